import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { GroupMessage, MulticastItem } from "@social-harness/protocol/delivery/Item";
import * as Content from "@social-harness/protocol/history/Content";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as Classify from "../../src/ingress/Classify.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import * as OperationFailed from "../../src/ingress/OperationFailed.ts";
import { cardOf, makeConversation, makeStore, seededRandom, type TestStore } from "./CertifiedPosts.ts";

let store: TestStore;
let random: Inbox.Random;
beforeEach(() => {
  store = makeStore();
  random = seededRandom("tokens");
});
afterEach(() => store.remove());

const classify = (rowsMax = 1_000): Classify.Outcome =>
  store.db.transaction(() =>
    Classify.classifyPending(store.db, { self: cardOf("alice").agentId, now: 0, random, rowsMax }),
  );
const messages = () =>
  Inbox.page(store.db).items.map(({ item }) => (item as MulticastItem).message) as ReadonlyArray<
    MulticastItem["message"]
  >;
const texts = () => messages().map(({ content }) => (content[0] as { readonly text: string }).text);
const pendingRows = () => Number(store.db.get("SELECT count(*) AS n FROM pending")?.n);

const collective = (value: CanonicalJson.Json): Content.ContentPart => ({
  type: "data",
  value: { "org.social-harness/collective": value } as never,
});
const text = (value: string): Content.ContentPart => ({ type: "text", text: value });

verifies("ING-05", "a direct message names the peer as this endpoint sees it", () => {
  const post = makeConversation(store, "alice", ["alice", "bob"]).post("bob", Content.ofText("hello"));
  expect(classify()).toEqual({ admitted: 1, consumed: [], unreadable: [], hasMore: false });
  expect(Inbox.page(store.db).items.map(({ item }) => item)).toEqual([
    {
      kind: "multicast",
      message: {
        kind: "direct",
        postId: post.postId,
        address: "agent:bob",
        sender: "agent:bob",
        content: [text("hello")],
      },
    },
  ]);
});

verifies("ING-06", "a group message carries the whole membership in the order of its address", () => {
  const names = ["zoe", "alice", "m-1", "bob"];
  const post = makeConversation(store, "alice", names).post("zoe", Content.ofText("hello"));
  classify();
  const expected: GroupMessage = {
    kind: "group",
    postId: post.postId,
    address: "group:alice,bob,m-1,zoe" as never,
    sender: "agent:zoe" as never,
    members: ["agent:alice", "agent:bob", "agent:m-1", "agent:zoe"] as never,
    content: [text("hello")] as never,
  };
  expect(messages()).toEqual([expected]);
});

verifies("ING-06", "a group of 32 is delivered whole, a largest post included", () => {
  const names = Array.from({ length: 32 }, (_, i) => `agent-${String(i).padStart(2, "0")}`);
  const largest = "x".repeat(262_117);
  const group = makeConversation(store, "alice", ["alice", ...names.slice(1)]);
  group.post("agent-07", Content.ofText(largest));
  classify();
  expect((messages()[0] as GroupMessage).members).toHaveLength(32);
  expect(texts()).toEqual([largest]);
});

verifies("ING-02", "posts become items in the order of their commits, without a subscriber", () => {
  const bob = makeConversation(store, "alice", ["alice", "bob"]);
  const carol = makeConversation(store, "alice", ["alice", "carol"]);
  for (let i = 0; i < 10; i++) {
    bob.post("bob", Content.ofText(`bob ${i}`));
    carol.post("carol", Content.ofText(`carol ${i}`));
  }
  while (classify(3).hasMore);
  expect(texts().filter((said) => said.startsWith("bob"))).toEqual(
    Array.from({ length: 10 }, (_, i) => `bob ${i}`),
  );
  expect(texts()).toHaveLength(20);
});

verifies("ING-04", "the author is not offered its own post", () => {
  makeConversation(store, "alice", ["alice", "bob"]).post("alice", Content.ofText("mine"));
  expect(classify().consumed.map(({ reason }) => reason)).toEqual(["own-post"]);
  expect([messages(), pendingRows()]).toEqual([[], 0]);
});

verifies("ING-07", "a multicast part is stripped, wherever it stands, and everything else stays", () => {
  const part = collective({ kind: "operation", op: "multicast" });
  const data: Content.ContentPart = { type: "data", value: { a: [1.5, null], __proto__x: "y" } };
  const bob = makeConversation(store, "alice", ["alice", "bob"]);
  bob.post("bob", [text("first"), data, part]);
  bob.post("bob", [part, text("first"), data]);
  classify();
  expect(messages().map(({ content }) => content)).toEqual([
    [text("first"), data],
    [text("first"), data],
  ]);
});

verifies("ING-03", "a collective part of another operation, malformed or repeated, consumes the post", () => {
  const multicast = { kind: "operation", op: "multicast" };
  const reasons = [
    [[text("x"), collective(multicast), collective(multicast)], "collective-repeated"],
    [[text("x"), collective({ ...multicast, extra: 1 })], "collective-unknown"],
    [[text("x"), collective({ kind: "operation", op: "gather" })], "collective-unknown"],
    [[text("x"), collective({ kind: "close", id: "col_" })], "collective-unknown"],
    [[text("x"), collective(null)], "collective-unknown"],
    [[text("x"), collective([multicast])], "collective-unknown"],
    [[collective(multicast)], "content-empty"],
  ] as const;
  const bob = makeConversation(store, "alice", ["alice", "bob"]);
  for (const [content] of reasons) bob.post("bob", content as unknown as Content.Content);
  const outcome = classify();
  expect(outcome.consumed.map(({ reason }) => reason)).toEqual(reasons.map(([, reason]) => reason));
  expect([outcome.admitted, pendingRows(), messages()]).toEqual([0, 0, []]);
});

verifies("ING-03", "a value that only looks like a collective part is content", () => {
  const lookalikes: ReadonlyArray<Content.ContentPart> = [
    { type: "data", value: { "org.social-harness/collective": 1, other: 2 } as never },
    { type: "data", value: { nested: { "org.social-harness/collective": 1 } } as never },
    { type: "data", value: ["org.social-harness/collective"] as never },
    { type: "data", value: "org.social-harness/collective" as never },
  ];
  makeConversation(store, "alice", ["alice", "bob"]).post("bob", lookalikes as never);
  classify();
  expect(messages().map(({ content }) => content)).toEqual([lookalikes]);
});

verifies("ING-08", "any content that certifies is delivered with the same canonical bytes", () => {
  const part = fc.oneof(
    fc.record({ type: fc.constant("text" as const), text: fc.string({ unit: "grapheme" }) }),
    fc.record({
      type: fc.constant("data" as const),
      value: fc.jsonValue({ maxDepth: 4, stringUnit: "grapheme" }),
    }),
  );
  const bob = makeConversation(store, "alice", ["alice", "bob"]);
  const expected: Array<string> = [];
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 3 }), (content) => {
      bob.post("bob", content as never);
      expected.push(CanonicalJson.encode(content as CanonicalJson.Json));
    }),
    { numRuns: 150 },
  );
  const hostile = JSON.parse('[{"type":"data","value":{"10":1,"9":2,"__proto__":{"x":1}}}]') as never;
  bob.post("bob", hostile);
  expected.push(CanonicalJson.encode(hostile));
  classify();
  const delivered: Array<string> = [];
  for (let cursor: string | undefined; delivered.length < expected.length;) {
    const page = Inbox.page(store.db, cursor);
    for (const { item } of page.items) {
      delivered.push(CanonicalJson.encode((item as MulticastItem).message.content as never));
    }
    cursor = page.nextCursor;
  }
  expect(delivered).toEqual(expected);
});

verifies(["ING-09", "ING-23"], "admission and the end of the pending row are one step", () => {
  const bob = makeConversation(store, "alice", ["alice", "bob"]);
  for (let i = 0; i < 3; i++) bob.post("bob", Content.ofText(`${i}`));
  const failing = () =>
    store.db.transaction(() => {
      Classify.classifyPending(store.db, { self: cardOf("alice").agentId, now: 0, random, rowsMax: 9 });
      throw new Error("killed before the commit");
    });
  expect(failing).toThrow("killed");
  store.reopen();
  expect([pendingRows(), messages()]).toEqual([3, []]);
  classify();
  const first = Inbox.page(store.db).items;
  store.reopen();
  classify();
  expect([pendingRows(), Inbox.page(store.db).items]).toEqual([0, first]);
  expect(first).toHaveLength(3);
});

verifies(
  "ING-10",
  "an unreadable record stays pending, holds back its own conversation, and no other",
  () => {
    const bob = makeConversation(store, "alice", ["alice", "bob"]);
    const carol = makeConversation(store, "alice", ["alice", "carol"]);
    bob.post("bob", Content.ofText("before"));
    bob.post("bob", Content.ofText("damaged"));
    for (let i = 0; i < 200; i++) bob.post("bob", Content.ofText(`after ${i}`));
    carol.post("carol", Content.ofText("elsewhere"));
    const damaged = store.db.get("SELECT core FROM record WHERE height = 1")?.core as string;
    store.db.run("UPDATE record SET core = ' ' || core WHERE height = 1");

    const outcome = classify(100);
    expect(outcome.admitted).toBe(2);
    expect(outcome.unreadable).toEqual([
      { recordHash: expect.stringMatching(/^rch_/) as string, conversationId: bob.members.conversationId },
    ]);
    expect([texts(), pendingRows()]).toEqual([["before", "elsewhere"], 201]);

    store.db.run("UPDATE record SET core = ? WHERE height = 1", damaged);
    while (classify(100).hasMore);
    expect([texts().length, pendingRows()]).toEqual([50, 0]);
    expect(texts().slice(1, 4)).toEqual(["elsewhere", "damaged", "after 0"]);
  },
);

test("an operation that failed is an item with fixed words", () => {
  const item = OperationFailed.itemOf({ to: "agent:bob" as never, reason: "outcome-unknown" });
  store.db.transaction(() => Inbox.admit(store.db, { item, now: 0, random }));
  expect(Inbox.page(store.db).items.map((delivery) => delivery.item)).toEqual([item]);
  expect(item.error).toEqual({
    reason: "outcome-unknown",
    message:
      "This post was not certified in time, or this endpoint lost its memory of it. Whether a member saw it is unknown.",
  });
});
