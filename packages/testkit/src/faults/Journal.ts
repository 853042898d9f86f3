// A consumer's own memory, one file of JSON lines that outlives it: which token came with which payload, and which tokens
// it has acknowledged. A line is written before the consumer acts on it.

import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { Item } from "@social-harness/protocol/delivery/Item";
import type { DeliveryToken, PostId } from "@social-harness/protocol/identity/Identifier";
import { conversationOf } from "./Books.ts";

/** An item as the journal keeps it: where it belongs, and a digest of its payload. */
export interface Entry {
  readonly token: DeliveryToken;
  readonly digest: string;
  readonly conversation: string;
  readonly author: string;
  readonly postId: PostId;
}

type Line =
  | ({ readonly kind: "seen" } & Entry)
  /** `asked` stands before the call, `done` after its answer: between them both are possible. */
  | { readonly kind: "asked" | "done"; readonly token: DeliveryToken };

export interface Journal {
  /** In the order in which they came first. */
  readonly entries: () => ReadonlyArray<Entry>;
  readonly entryOf: (token: DeliveryToken) => Entry | undefined;
  readonly isAsked: (token: DeliveryToken) => boolean;
  readonly isDone: (token: DeliveryToken) => boolean;
  readonly write: (line: Line) => void;
}

const nameOf = (address: string): string => address.slice(address.indexOf(":") + 1);

/** The entry of a delivered message of `self`; null for an item that is no message. */
export const entryOf = (self: string, token: DeliveryToken, item: Item): Entry | null => {
  if (item.kind !== "multicast") return null;
  const { message } = item;
  const author = nameOf(message.sender);
  const members = message.kind === "group" ? message.members.map(nameOf) : [self, author];
  return {
    token,
    digest: createHash("sha256").update(JSON.stringify(item)).digest("base64url"),
    conversation: conversationOf(members),
    author,
    postId: message.postId,
  };
};

/** Opens the journal of a consumer, which may have had another life before. */
export const open = (file: string): Journal => {
  const entries = new Map<DeliveryToken, Entry>();
  const asked = new Set<DeliveryToken>();
  const done = new Set<DeliveryToken>();
  const apply = (line: Line): void => {
    switch (line.kind) {
      case "seen":
        entries.set(line.token, line);
        return;
      case "asked":
        asked.add(line.token);
        return;
      case "done":
        done.add(line.token);
    }
  };
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  for (const line of text.split("\n")) if (line !== "") apply(JSON.parse(line) as Line);
  return {
    entries: () => [...entries.values()],
    entryOf: (token) => entries.get(token),
    isAsked: (token) => asked.has(token),
    isDone: (token) => done.has(token),
    write: (line) => {
      appendFileSync(file, `${JSON.stringify(line)}\n`);
      apply(line);
    },
  };
};
