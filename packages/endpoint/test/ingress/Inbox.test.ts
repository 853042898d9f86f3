import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import type { Item } from "@social-harness/protocol/delivery/Item";
import {
  DeliveryToken,
  deliveryTokenOf,
  eventIdOf,
  PostId,
} from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, beforeEach, expect } from "vitest";
import { classifyPending } from "../../src/ingress/Classify.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import type { OperationError } from "../../src/operations/OperationError.ts";
import type { Delivery } from "../../src/operations/Operations.ts";
import { cardOf, makeConversation, makeStore, seededRandom, type TestStore } from "./CertifiedPosts.ts";

let store: TestStore;
let random: Inbox.Random;
beforeEach(() => {
  store = makeStore();
  random = seededRandom("tokens");
});
afterEach(() => store.remove());

const itemOf = (text: string): Item => ({
  kind: "multicast",
  message: {
    kind: "direct",
    postId: PostId.fromBytes(Buffer.alloc(32, 9)),
    address: "agent:bob" as never,
    sender: "agent:bob" as never,
    content: [{ type: "text", text }],
  },
});

/** An item whose canonical form has exactly this many bytes. */
const itemOfBytes = (byteCount: number): Item =>
  itemOf("x".repeat(byteCount - CanonicalJson.byteLength(itemOf("") as CanonicalJson.Json)));

const admit = (item: Item, now = 0): DeliveryToken =>
  store.db.transaction(() => Inbox.admit(store.db, { item, now, random }));

const reasonOf = (body: () => unknown): string => {
  try {
    body();
    return "nothing was thrown";
  } catch (error) {
    return (error as OperationError).reason;
  }
};

/** Everything from one traversal; `between` runs after each page but the last. */
const traverse = (between: () => void = () => {}): ReadonlyArray<ReadonlyArray<Delivery>> => {
  const pages: Array<ReadonlyArray<Delivery>> = [];
  let cursor: string | undefined;
  do {
    const page = Inbox.page(store.db, cursor);
    pages.push(page.items);
    cursor = page.nextCursor;
    if (cursor !== undefined) between();
  } while (cursor !== undefined);
  return pages;
};

const tokensOf = (pages: ReadonlyArray<ReadonlyArray<Delivery>>): ReadonlyArray<string> =>
  pages.flat().map(({ deliveryToken }) => deliveryToken);

verifies(
  ["ING-20", "ING-21"],
  "a token is dlv_ and the drawn bytes, its event id the same under evt_",
  () => {
    const token = admit(itemOf("hello"));
    expect(token).toBe(DeliveryToken.fromBytes(seededRandom("tokens")(32)));
    expect(token).toMatch(/^dlv_[A-Za-z0-9_-]{43}$/);
    expect(eventIdOf(token)).toBe(`evt_${token.slice(4)}`);
    expect(deliveryTokenOf(eventIdOf(token))).toBe(token);
  },
);

verifies("ING-20", "a token binds one item: neither it nor a record can be bound again", () => {
  const first = itemOf("first");
  const options = { now: 0, recordHash: "rch_a" as never };
  Inbox.admit(store.db, { item: first, ...options, random: () => Buffer.alloc(32, 1) });
  const sameToken = () =>
    Inbox.admit(store.db, { item: itemOf("second"), now: 0, random: () => Buffer.alloc(32, 1) });
  expect(sameToken).toThrow(/UNIQUE/);
  expect(() => Inbox.admit(store.db, { item: first, ...options, random })).toThrow(/UNIQUE/);
  expect(Inbox.page(store.db).items.map(({ item }) => item)).toEqual([first]);
});

verifies(
  ["ING-08", "ING-24"],
  "every read returns the bytes that were stored, whatever happened since",
  () => {
    const item = itemOf("grüße \u0001 𝄞 \u202e");
    const token = admit(item);
    const stored = () =>
      store.db.get("SELECT item FROM inbox WHERE delivery_token = ?", token)?.item as string;
    const before = stored();
    const reads: Array<Item> = [Inbox.page(store.db).items[0]?.item as Item];
    reads.push(Inbox.readEvent(store.db, eventIdOf(token)).item);
    Inbox.acknowledge(store.db, token, 5);
    reads.push(Inbox.readEvent(store.db, eventIdOf(token)).item);
    store.reopen();
    reads.push(Inbox.readEvent(store.db, eventIdOf(token)).item);
    for (const read of reads) expect(CanonicalJson.encode(read as CanonicalJson.Json)).toBe(before);
    expect(stored()).toBe(before);
  },
);

verifies("ING-22", "acknowledging is the same on repetition, and unknown for a token never minted", () => {
  const token = admit(itemOf("hello"));
  Inbox.acknowledge(store.db, token, 5);
  Inbox.acknowledge(store.db, token, 6);
  store.reopen();
  Inbox.acknowledge(store.db, token, 7);
  expect(store.db.get("SELECT acknowledged_at FROM inbox")?.acknowledged_at).toBe(5);
  const foreign = DeliveryToken.fromBytes(Buffer.alloc(32, 200));
  expect(reasonOf(() => Inbox.acknowledge(store.db, foreign, 5))).toBe("unknown-delivery");
  expect(reasonOf(() => Inbox.readEvent(store.db, eventIdOf(foreign)))).toBe("unknown-event");
});

verifies("ING-25", "reading acknowledges nothing", () => {
  admit(itemOf("one"));
  admit(itemOf("two"));
  const first = traverse();
  Inbox.readEvent(store.db, eventIdOf(first[0]?.[0]?.deliveryToken as DeliveryToken));
  expect(traverse()).toEqual(first);
  expect(Inbox.unreadCount(store.db)).toBe(2);
});

verifies("ING-26", "C75: the 50th item ends a page and the 51st begins the next", () => {
  for (let i = 0; i < 50; i++) admit(itemOf(`${i}`));
  expect(traverse().map((page) => page.length)).toEqual([50]);
  admit(itemOf("50"));
  expect(traverse().map((page) => page.length)).toEqual([50, 1]);
});

verifies("ING-26", "C75: a page of exactly 2 MiB is one page, one byte more is two", () => {
  const eighth = Limits.inboxPageBytesMax / 8;
  for (let i = 0; i < 7; i++) admit(itemOfBytes(eighth));
  const last = admit(itemOfBytes(eighth));
  expect(traverse().map((page) => page.length)).toEqual([8]);
  Inbox.acknowledge(store.db, last, 1);
  admit(itemOfBytes(eighth + 1));
  expect(traverse().map((page) => page.length)).toEqual([7, 1]);
});

verifies("ING-26", "C75: content of 0 and 1 bytes of text and of the largest post is delivered", () => {
  const largest = "x".repeat(Limits.contentBytesMax - 27);
  const texts = ["", "x", largest];
  for (const text of texts) admit(itemOf(text));
  expect(
    traverse()
      .flat()
      .map(({ item }) => item),
  ).toEqual(texts.map(itemOf));
});

verifies("ING-26", "a page holds at least one item, however large", () => {
  // No item is this large today; the rule must not depend on it.
  admit(itemOf("small"));
  store.db.run("UPDATE inbox SET item_bytes = ?", Limits.inboxPageBytesMax + 1);
  admit(itemOf("next"));
  expect(traverse().map((page) => page.length)).toEqual([1, 1]);
});

verifies("ING-28", "C59: 200 items of one millisecond appear exactly once each, in order", () => {
  const tokens = Array.from({ length: 200 }, (_, i) => admit(itemOf(`${i}`), 1_700_000_000_000));
  const pages = traverse();
  expect(tokensOf(pages)).toEqual(tokens);
  expect(pages.map((page) => page.length)).toEqual([50, 50, 50, 50]);
});

verifies("ING-27", "C61: what arrives during a traversal belongs to the next one", () => {
  const before = Array.from({ length: 120 }, (_, i) => admit(itemOf(`${i}`)));
  const during: Array<DeliveryToken> = [];
  const seen = tokensOf(
    traverse(() => {
      for (let i = 0; i < 60; i++) during.push(admit(itemOf(`late ${i}`)));
    }),
  );
  expect(seen).toEqual(before);
  expect(tokensOf(traverse())).toEqual([...before, ...during]);
});

verifies("ING-28", "items acknowledged during a traversal vanish from it and disturb no other", () => {
  const tokens = Array.from({ length: 120 }, (_, i) => admit(itemOf(`${i}`)));
  const gone = tokens.slice(40, 90);
  const seen = tokensOf(
    traverse(() => {
      for (const token of gone) Inbox.acknowledge(store.db, token, 1);
    }),
  );
  expect(seen).toEqual([...tokens.slice(0, 50), ...tokens.slice(90)]);
});

verifies("ING-29", "a cursor is good after a restart, and nothing but its exact text is a cursor", () => {
  for (let i = 0; i < 60; i++) admit(itemOf(`${i}`));
  const cursor = Inbox.page(store.db).nextCursor as string;
  store.reopen();
  expect(Inbox.page(store.db, cursor).items).toHaveLength(10);

  const bytes = Buffer.from(cursor, "base64url");
  const changed = Array.from(bytes, (_, i) => {
    const copy = Buffer.from(bytes);
    copy[i] = (copy[i] as number) ^ 1;
    return Base64Url.encode(copy);
  });
  const aliases = ["", `${cursor}=`, ` ${cursor}`, `${cursor}A`, cursor.slice(0, -1), `${cursor}\n`];
  const untouched = Buffer.concat([Buffer.alloc(8, 255), bytes.subarray(8)]).toString("base64url");
  for (const bad of [...changed, ...aliases, untouched]) {
    expect(reasonOf(() => Inbox.page(store.db, bad))).toBe("invalid-continuation");
  }
  const other = makeStore();
  other.db.run("UPDATE setting SET value = ?", Buffer.alloc(32, 77));
  expect(reasonOf(() => Inbox.page(other.db, cursor))).toBe("invalid-continuation");
  other.remove();
});

verifies("ING-08", "a row whose payload is damaged is a persistence failure, not a different item", () => {
  const token = admit(itemOf("hello"));
  for (const damaged of ['{"kind":"multicast"}', '{ "kind":"operationFailed"}', "\u0000", "null"]) {
    store.db.run("UPDATE inbox SET item = ?", damaged);
    expect(reasonOf(() => Inbox.page(store.db))).toBe("persistence-failed");
    expect(reasonOf(() => Inbox.readEvent(store.db, eventIdOf(token)))).toBe("persistence-failed");
  }
});

verifies("ING-30", "counting what is unread looks at no tombstone", () => {
  const plan = store.db.all(
    "EXPLAIN QUERY PLAN SELECT count(*) FROM inbox INDEXED BY inbox_unread WHERE acknowledged_at IS NULL",
  );
  expect(plan.map(({ detail }) => detail)).toEqual(["SCAN inbox USING COVERING INDEX inbox_unread"]);

  const tombstones = 1_000_000;
  store.db.run(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO inbox (delivery_token, item, item_bytes, admitted_at, acknowledged_at)
     SELECT 'dlv_' || i, '', 0, 0, 1 FROM n`,
    tombstones,
  );
  for (let i = 0; i < 10; i++) admit(itemOf(`${i}`));
  const timed = (body: () => unknown): number => {
    const begun = performance.now();
    body();
    return performance.now() - begun;
  };
  expect(Inbox.unreadCount(store.db)).toBe(10);
  const linear = timed(() =>
    store.db.get("SELECT count(*) FROM inbox NOT INDEXED WHERE acknowledged_at IS NULL"),
  );
  const counted = timed(() => {
    for (let i = 0; i < 20; i++) Inbox.unreadCount(store.db);
  });
  expect(counted).toBeLessThan(linear);
  expect(Inbox.page(store.db).items).toHaveLength(10);
});

verifies(
  "ING-193",
  "an admitted item keeps its token, its bytes, the owner's words and its release over restarts",
  () => {
    const options = { now: 0, random };
    const rows = ["plain", "guided", "released"].map((text) => {
      const beside = {
        ...(text === "plain" ? {} : { guidance: `about ${text}` }),
        ...(text === "released" ? { released: true as const } : {}),
      };
      const item = itemOf(text);
      return { deliveryToken: Inbox.admit(store.db, { item, ...beside, ...options }), item, ...beside };
    });
    for (let starts = 0; starts < 3; starts++) {
      expect(Inbox.page(store.db)).toEqual({ items: rows });
      for (const { deliveryToken, ...carried } of rows) {
        expect(Inbox.readEvent(store.db, eventIdOf(deliveryToken))).toEqual(carried);
      }
      store.reopen();
    }
  },
);

verifies(
  "ING-196",
  "what is not classified is in no page, count or event, before a restart and after it",
  () => {
    const bob = makeConversation(store, "alice", ["alice", "bob"]);
    const part = { "org.social-harness/collective": { kind: "response", id: "col", action: "decline" } };
    bob.post("bob", [{ type: "text", text: "raw" }]);
    bob.post("bob", [{ type: "data", value: part }] as never);
    for (let starts = 0; starts < 2; starts++) {
      expect([Inbox.page(store.db), Inbox.unreadCount(store.db), Inbox.oldestUnread(store.db)]).toEqual([
        { items: [] },
        0,
        null,
      ]);
      store.reopen();
    }
    const options = { self: cardOf("alice").agentId, now: 0, random, rowsMax: 9 };
    store.db.transaction(() => classifyPending(store.db, options));
    expect(Inbox.page(store.db).items.map(({ item }) => JSON.stringify(item))).toEqual([
      expect.stringContaining('"raw"'),
    ]);
    expect(store.db.get("SELECT count(*) AS n FROM pending")?.n).toBe(0);
  },
);
