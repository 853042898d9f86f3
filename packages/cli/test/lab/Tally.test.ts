// The books: every kind of fault that they must notice, noticed.

import { describe, expect, test } from "vitest";
import type { Item } from "@social-harness/protocol/delivery/Item";
import { DeliveryToken, PostId } from "@social-harness/protocol/identity/Identifier";
import { isGood, Tally, type Held } from "../../src/lab/Tally.ts";

const postId = (n: number): PostId => PostId.fromBytes(Buffer.alloc(32, n));
const token = (n: number): DeliveryToken => DeliveryToken.fromBytes(Buffer.alloc(32, n));
const direct = (from: string, n: number, text = `text ${n}`): Item =>
  ({
    kind: "multicast",
    message: {
      kind: "direct",
      postId: postId(n),
      address: `agent:${from}`,
      sender: `agent:${from}`,
      content: [{ type: "text", text }],
    },
  }) as unknown as Item;

const twoPosts = (): Tally => {
  const tally = new Tally();
  for (const n of [1, 2])
    tally.sent({ from: "ada", recipients: ["bob"], text: `text ${n}`, postId: postId(n) });
  return tally;
};
const arrives = (tally: Tally, n: number, as = n, item = direct("ada", n)): void => {
  tally.received({ agent: "bob", deliveryToken: token(as), item });
  tally.acknowledged("bob", token(as));
};
const held = (agent: string, hashes = ["r1", "r2"]): Held => ({
  agent,
  members: ["ada", "bob"],
  recordHashes: hashes,
  posts: [1, 2].map((n) => ({ from: "ada", postId: postId(n), text: `text ${n}` })),
});
const both = [held("ada"), held("bob")];

describe("the books", () => {
  test("are good when each post came once, in order", () => {
    const tally = twoPosts();
    expect(tally.missingAt("bob")).toBe(2);
    arrives(tally, 1);
    arrives(tally, 2);
    expect(tally.missingAt("bob")).toBe(0);
    expect(tally.verdict(both)).toEqual({
      itemsExpected: 2,
      itemsDelivered: 2,
      duplicates: 0,
      missing: 0,
      outOfOrder: 0,
      faults: [],
    });
    expect(tally.receivedBy("bob")).toEqual([
      { from: "agent:ada", to: "agent:ada", text: "text 1" },
      { from: "agent:ada", to: "agent:ada", text: "text 2" },
    ]);
  });

  test("an item that is read twice before its acknowledgment was delivered once", () => {
    const tally = twoPosts();
    tally.received({ agent: "bob", deliveryToken: token(1), item: direct("ada", 1) });
    arrives(tally, 1);
    arrives(tally, 2);
    expect(isGood(tally.verdict(both))).toBe(true);
  });

  test("notice a missing post", () => {
    const tally = twoPosts();
    arrives(tally, 2);
    expect(tally.verdict(both)).toMatchObject({ missing: 1, itemsDelivered: 1 });
  });

  test("notice a post under a second token, and one that comes back after its acknowledgment", () => {
    const tally = twoPosts();
    arrives(tally, 1);
    arrives(tally, 1, 9);
    arrives(tally, 1);
    arrives(tally, 2);
    expect(tally.verdict(both)).toMatchObject({ duplicates: 2, missing: 0 });
  });

  test("notice an order that is not the record's", () => {
    const tally = twoPosts();
    arrives(tally, 2);
    arrives(tally, 1);
    expect(tally.verdict(both)).toMatchObject({ outOfOrder: 1, missing: 0 });
  });

  test("notice another text, a post that nobody sent, a shared token and a failed operation", () => {
    const tally = twoPosts();
    arrives(tally, 1, 1, direct("ada", 1, "other"));
    arrives(tally, 2);
    arrives(tally, 3);
    arrives(tally, 2, 1);
    const failed = {
      kind: "operationFailed",
      to: "agent:ada",
      error: { reason: "refused", message: "" },
    } as unknown as Item;
    arrives(tally, 4, 4, failed);
    const { faults } = tally.verdict(both);
    expect(faults).toEqual([
      "bob saw one token on two items",
      "bob was told that an operation of its own failed",
      "bob read another text than ada wrote",
      "bob was handed a post that nobody sent to it",
    ]);
  });

  test("notice members with different records", () => {
    const tally = twoPosts();
    arrives(tally, 1);
    arrives(tally, 2);
    const { faults } = tally.verdict([held("ada"), held("bob", ["r1", "other"])]);
    expect(faults).toEqual(["ada and bob hold different records of ada,bob"]);
  });
});
