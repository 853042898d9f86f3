import { createHash } from "node:crypto";
import { expect } from "vitest";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { Opaque32, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import * as Lane from "@social-harness/router/wire/Lane";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Database } from "../../src/store/Database.ts";
import * as LaneHeads from "../../src/transport/LaneHeads.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

const router = Ed25519.signerFromSeed(Buffer.alloc(32, 1));
const routerInstanceId = RouterInstanceId.fromBytes(Buffer.alloc(16, 2));
const lane = Opaque32.fromBytes(Buffer.alloc(32, 3));
const digestOf = (text: string): Opaque32 => Opaque32.fromBytes(createHash("sha256").update(text).digest());

const signed = (sequence: number, laneHead: Opaque32): LaneHeads.Seen => {
  const head = { routerInstanceId, lane, sequence, laneHead };
  return { ...head, signature: Lane.sign(router, head) };
};

/** The heads of a lane whose envelopes are these texts. */
const chainOf = (texts: ReadonlyArray<string>): ReadonlyArray<LaneHeads.Seen> => {
  let previous: Opaque32 | null = null;
  return texts.map((text, i) => {
    previous = Lane.laneHeadOf({ lane, previous, sequence: i + 1, envelopeDigest: digestOf(text) });
    return signed(i + 1, previous);
  });
};

const numbered = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, i) => `${i + 1}`);

const takeAll = (db: Database, heads: ReadonlyArray<LaneHeads.Seen>, texts: ReadonlyArray<string>) =>
  heads.map((head) => LaneHeads.take(db, head, digestOf(texts[head.sequence - 1] as string)));

const proofsIn = (db: Database): ReadonlyArray<unknown> =>
  db.all("SELECT proof FROM equivocation").map((row) => JSON.parse(String(row["proof"])));

verifies("HIS-54", "a lane goes on step by step; what was said before is said again without effect", () => {
  const db = temporaryStore();
  const texts = numbered(3);
  const heads = chainOf(texts);
  expect(takeAll(db, heads, texts)).toEqual(["next", "next", "next"]);
  expect(takeAll(db, heads, texts)).toEqual(["repeated", "repeated", "repeated"]);
  expect(LaneHeads.last(db, lane)).toEqual(heads[2]);
});

verifies(
  "HIS-43",
  "a step that was never seen makes the next head one after a gap, and the lane goes on from there",
  () => {
    const db = temporaryStore();
    const texts = numbered(6);
    const heads = chainOf(texts);
    const seen = heads.filter(({ sequence }) => sequence !== 2 && sequence !== 3);
    expect(takeAll(db, seen, texts)).toEqual(["next", "after-gap", "next", "next"]);
    expect(takeAll(temporaryStore(), heads.slice(3), texts)).toEqual(["after-gap", "next", "next"]);
  },
);

verifies(
  ["HIS-51", "HIS-54"],
  "another head for a place that was seen is a contradiction and a proof",
  () => {
    const db = temporaryStore();
    const heads = chainOf(numbered(3));
    takeAll(db, heads, numbered(3));
    const [, , forked] = chainOf(["1", "2", "other"]);
    if (forked === undefined) throw new Error("no head");
    expect(LaneHeads.take(db, forked, digestOf("other"))).toBe("contradicts");
    expect(LaneHeads.repeats(db, forked)).toBe(false);
    expect(proofsIn(db)).toEqual([[heads[2], forked]]);
    expect(LaneHeads.last(db, lane)).toEqual(heads[2]);
  },
);

verifies("HIS-51", "a head that does not continue the one before it is a contradiction", () => {
  const db = temporaryStore();
  const texts = numbered(2);
  takeAll(db, chainOf(texts), texts);
  const [, , stray] = chainOf(["1", "other", "3"]);
  if (stray === undefined) throw new Error("no head");
  expect(LaneHeads.take(db, stray, digestOf("3"))).toBe("contradicts");
  const [, , mislabelled] = chainOf(numbered(3));
  expect(LaneHeads.take(db, mislabelled as LaneHeads.Seen, digestOf("another envelope"))).toBe("contradicts");
});

verifies(
  "HIS-54",
  "what a member shows counts only with the Router's signature, for this instance, where it differs",
  () => {
    const db = temporaryStore();
    const heads = chainOf(numbered(2));
    takeAll(db, heads, numbered(2));
    const compare = (seen: LaneHeads.Seen): boolean =>
      LaneHeads.compare(db, Ed25519.verifier, router.publicKey, seen);
    const other = signed(2, digestOf("forged"));
    expect(compare(heads[1] as LaneHeads.Seen)).toBe(false);
    expect(compare(signed(3, digestOf("ahead")))).toBe(false);
    expect(compare({ ...other, signature: signed(1, digestOf("forged")).signature })).toBe(false);
    expect(compare({ ...other, routerInstanceId: RouterInstanceId.fromBytes(Buffer.alloc(16, 9)) })).toBe(
      false,
    );
    expect(proofsIn(db)).toEqual([]);
    expect(compare(other)).toBe(true);
    expect(compare(signed(2, digestOf("a third")))).toBe(true);
    expect(proofsIn(db)).toEqual([[heads[1], other]]);
  },
);

verifies("HIS-54", "the last 128 heads of a lane are kept to compare with, and few more", () => {
  const db = temporaryStore();
  const texts = numbered(400);
  const heads = chainOf(texts);
  db.transaction(() => takeAll(db, heads, texts));
  const { first } = db.get("SELECT min(sequence) AS first FROM lane_head") as { first: number };
  expect(first).toBeLessThanOrEqual(400 - 127);
  expect(first).toBeGreaterThan(400 - 192);
  expect(LaneHeads.take(db, signed(first - 1, digestOf("forgotten")), digestOf("x"))).toBe("repeated");
  expect(LaneHeads.take(db, signed(first, digestOf("kept")), digestOf("x"))).toBe("contradicts");
});
