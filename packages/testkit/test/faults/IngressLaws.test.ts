// The oracles of hooked agents can fail: a store and its receiver's record that break one law each, beside sound ones.

import { eventIdOf } from "@social-harness/protocol/identity/Identifier";
import * as Bindings from "@social-harness/testkit/faults/Bindings";
import type { Disk, StoredItem } from "@social-harness/testkit/faults/Disk";
import { Faults } from "@social-harness/testkit/faults/Fault";
import * as IngressLaws from "@social-harness/testkit/faults/IngressLaws";
import type { Attempt } from "@social-harness/testkit/faults/Received";
import * as Wall from "@social-harness/testkit/faults/Wall";
import { expect, test } from "vitest";

const tokenOf = (number: number): string => `dlv_${Buffer.alloc(32, number).toString("base64url")}`;
const eventIdAt = (number: number): string => eventIdOf(tokenOf(number) as never);

const itemAt = (number: number, more: Partial<StoredItem> = {}): StoredItem => ({
  token: tokenOf(number),
  recordHash: `r${number}`,
  digest: `item ${number}`,
  guidance: null,
  acknowledgedAt: number * 100 + 50,
  ...more,
});

const attemptAt = (number: number, more: Partial<Attempt> = {}): Attempt => ({
  at: number * 100,
  webhookId: eventIdAt(number),
  event: {
    eventId: eventIdAt(number),
    digest: `body ${number}`,
    itemDigest: `item ${number}`,
    guidance: null,
    isSigned: true,
  },
  reply: "taken",
  ...more,
});

const event = attemptAt(0).event as NonNullable<Attempt["event"]>;

/** Posts 0 and 1 were received, the first at its second attempt, and post 2 is held. */
const disk = {
  name: "ada",
  agentId: "ada",
  conversations: [
    {
      records: [0, 1, 2].map((height) => ({
        height,
        recordHash: `r${height}`,
        author: "bob",
        postId: `p${height}`,
      })),
      pending: [],
      queued: [],
    },
  ],
  items: [itemAt(0), itemAt(1)],
  holds: [{ holdId: "h2", recordHash: "r2", reason: "rule", explanation: "no", ending: null }],
} as unknown as Disk;
const attempts = [attemptAt(0, { at: -1, reply: "failed" }), attemptAt(0), attemptAt(1)];

const verdictOf = (more: { readonly disk?: Partial<Disk>; readonly attempts?: ReadonlyArray<Attempt> }) => {
  const faults = new Faults();
  const counts = IngressLaws.askSettled(
    {
      disk: { ...disk, ...more.disk },
      attempts: more.attempts ?? attempts,
      fateOf: (postId) =>
        postId === "p2"
          ? { kind: "held", reason: "rule", explanation: "no" }
          : { kind: "allowed", guidance: null },
    },
    faults,
  );
  return { sentences: faults.sentences, counts };
};

test("a sound store and its record break no law", () => {
  expect(verdictOf({})).toEqual({
    sentences: [],
    counts: { received: 2, held: 1, attempts: 3, repeatedReceipts: 0, failedChecks: 0 },
  });
});

test("a receipt that was given again before it was stored breaks none and is counted", () => {
  const repeated = [...attempts.slice(0, 2), attemptAt(0, { at: 40 }), attemptAt(1)];
  const { sentences, counts } = verdictOf({ attempts: repeated });
  expect(sentences).toEqual([]);
  expect(counts.repeatedReceipts).toBe(1);
});

const broken: Readonly<Record<string, readonly [Parameters<typeof verdictOf>[0], string]>> = {
  "an attempt after the stored receipt": [
    { attempts: [attemptAt(0), attemptAt(0, { at: 60 }), attemptAt(1)] },
    "after its receipt was stored",
  ],
  "one more of an earlier event": [
    { attempts: [...attempts, attemptAt(0, { at: 101 })] },
    "in another order",
  ],
  "two bodies": [
    { attempts: [attemptAt(0), attemptAt(0, { event: { ...event, digest: "other" } }), attemptAt(1)] },
    "2 bodies",
  ],
  "another id in the head": [
    { attempts: [attemptAt(0, { event: { ...event, eventId: "evt_" } }), attemptAt(1)] },
    "under the head of",
  ],
  "an attempt without a signature": [
    { attempts: [attemptAt(0, { event: { ...event, isSigned: false } }), attemptAt(1)] },
    "did not sign",
  ],
  "another item": [
    { attempts: [attemptAt(0, { event: { ...event, itemDigest: "x" } }), attemptAt(1)] },
    "sent another item",
  ],
  "other guidance": [
    { attempts: [attemptAt(0, { event: { ...event, guidance: "x" } }), attemptAt(1)] },
    "sent other guidance",
  ],
  "an item that was never received": [{ attempts: [attemptAt(0)] }, "at 0 receipts"],
  "an item that was not acknowledged": [
    { disk: { items: [itemAt(0), itemAt(1, { acknowledgedAt: null })] } },
    "never delivered",
  ],
  "a failure that was taken for a receipt": [
    { attempts: [attemptAt(0), attemptAt(0, { at: 1, reply: "failed" }), attemptAt(1)] },
    "that was none",
  ],
  "the order of the inbox": [{ attempts: [attemptAt(1), attemptAt(0)] }, "in another order"],
  "a post that is gone": [{ disk: { holds: [] } }, "0 items and holds for the post p2"],
  "a post with a hold and an item": [
    { disk: { items: [itemAt(0), itemAt(1), itemAt(2)] } },
    "2 items and holds for the post p2",
  ],
  "a post that should have been held": [
    { disk: { items: [itemAt(0), itemAt(1), itemAt(2)], holds: [] } },
    "let p2 through",
  ],
  "a hold for another reason": [
    {
      disk: {
        holds: [{ holdId: "h2", recordHash: "r2", reason: "checker", explanation: "no", ending: null }],
      },
    },
    "for another reason",
  ],
  "guidance that is nobody's": [
    { disk: { items: [itemAt(0, { guidance: "x" }), itemAt(1)] } },
    "gave p0 other guidance",
  ],
};

test.each(Object.entries(broken))("%s is seen", (_, [what, says]) => {
  expect(verdictOf(what).sentences.join("\n")).toContain(says);
});

test.each([
  ["two payloads", { digest: "other" }],
  ["changed the guidance", { guidance: "other" }],
  ["to another post", { recordHash: "other" }],
  ["changed or forgot", { acknowledgedAt: 51 }],
  ["changed or forgot", { acknowledgedAt: null }],
  ["two tokens", { token: tokenOf(9) }],
] as const)("a binding that does not last is seen: %s", (says, change) => {
  const faults = new Faults();
  const bindings = Bindings.create();
  const at = (items: ReadonlyArray<StoredItem>): void => bindings.ask([{ ...disk, items }], faults);
  at([itemAt(0, { acknowledgedAt: null })]);
  at([itemAt(0)]);
  expect(faults.sentences).toEqual([]);
  at([itemAt(0, change)]);
  expect(faults.sentences.join("\n")).toContain(says);
});

test("what becomes of a post follows from the burst in its beginning", () => {
  const fateOf = (burst: number) => Wall.fateOf(`bob-agent ada-agent bob-agent ${burst}.0 1.7 `);
  expect(fateOf(17).kind).toBe("held");
  expect(fateOf(3)).toMatchObject({ kind: "held", reason: "checker" });
  expect(fateOf(8)).toEqual({ kind: "allowed", guidance: "a rule's guidance" });
  expect(fateOf(70)).toEqual({ kind: "allowed", guidance: null });
});
