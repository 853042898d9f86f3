// Requests before there are operations that make them: a post whose text begins with "request" asks for an answer. The rest is
// real: posts that are committed, classified and admitted, and what a start does about an earlier process's requests.

import { createHash } from "node:crypto";
import * as Content from "@social-harness/protocol/history/Content";
import type { Item } from "@social-harness/protocol/delivery/Item";
import { CollectiveId, type DeliveryToken } from "@social-harness/protocol/identity/Identifier";
import * as Classify from "../../src/ingress/Classify.ts";
import * as Recovery from "../../src/ingress/Recovery.ts";
import type { Database } from "../../src/store/Database.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import { cardOf, type Conversation, seededRandom } from "./CertifiedPosts.ts";

export const requestIdOf = (text: string): CollectiveId =>
  CollectiveId.fromBytes(createHash("sha256").update(text).digest());

/** What an item says, in a word or a few. */
export const wordsOf = (item: Item): string =>
  item.kind === "operationFailed"
    ? `${item.error.reason} ${item.to}`
    : item.message.content.map((part) => (part.type === "text" ? part.text : "")).join("");

/** Marks what asks for an answer, as classification will. */
export const marking =
  (admit: Classify.Admit): Classify.Admit =>
  (db, admission, conversationId) => {
    const text = wordsOf(admission.item);
    const isRequest = admission.recordHash !== undefined && text.startsWith("request");
    return admit(db, isRequest ? { ...admission, requestId: requestIdOf(text) } : admission, conversationId);
  };

export const say = (conversation: Conversation, ...texts: ReadonlyArray<string>): void => {
  for (const text of texts) conversation.post("bob", Content.ofText(text));
};

const random = seededRandom("requests");
export const now = Date.UTC(2026, 10, 30, 12);

export const classify = (db: Database, admit: Classify.Admit = Classify.admitAtOnce): void => {
  const self = cardOf("alice").agentId;
  db.transaction(() =>
    Classify.classifyPending(db, { self, now, random, admit: marking(admit), rowsMax: 20_000 }),
  );
};

/** What a start does before anything else; the number of requests that it retired. */
export const recover = (db: Database, more: Partial<Recovery.RecoveryOptions> = {}): number =>
  Recovery.recover({
    db,
    answerable: new Set(),
    now,
    random,
    admit: Classify.admitAtOnce,
    onRetired: Occurrence.drop,
    ...more,
  });

export interface InboxRow {
  readonly token: DeliveryToken;
  readonly words: string;
  readonly bytes: string;
  readonly isUnread: boolean;
}

/** Every row of the inbox in its order, tombstones included. */
export const inboxRows = (db: Database): ReadonlyArray<InboxRow> =>
  db.all("SELECT delivery_token, item, acknowledged_at FROM inbox ORDER BY sequence").map((row) => ({
    token: row["delivery_token"] as DeliveryToken,
    words: wordsOf(JSON.parse(String(row["item"])) as Item),
    bytes: String(row["item"]),
    isUnread: row["acknowledged_at"] === null,
  }));

export const unreadWords = (db: Database): ReadonlyArray<string> =>
  inboxRows(db)
    .filter(({ isUnread }) => isUnread)
    .map(({ words }) => words);
