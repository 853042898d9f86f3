import { expect } from "vitest";
import type { Reads } from "@social-harness/protocol/conversation/Event";
import type { RouterAnchor } from "@social-harness/protocol/history/Evidence";
import type { RecordCore } from "@social-harness/protocol/history/Record";
import { AnchorHash, RecordHash } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { createAtHand, type Met } from "../../src/conversations/AtHand.ts";

const anchorHash = (n: number): AnchorHash => AnchorHash.fromBytes(Buffer.alloc(32, n));
const recordHash = (n: number): RecordHash => RecordHash.fromBytes(Buffer.alloc(32, n));

/** A store that holds everything below 200, and counts who asks it. */
const bench = () => {
  const asked: Array<string> = [];
  const found = (hash: string): object | null => {
    asked.push(hash);
    return Buffer.from(hash.slice(4), "base64url")[0] === 200 ? null : { hash };
  };
  const reads = {
    anchor: (hash: string) => found(hash) as RouterAnchor | null,
    core: (hash: string) => found(hash) as RecordCore | null,
  } as unknown as Reads;
  const atHand = createAtHand();
  /** One turn that reads, and commits or not. */
  const turn = (commits: boolean, work: (reads: Reads) => void): number => {
    const met: Array<Met> = [];
    asked.length = 0;
    work(atHand.reading(reads, met));
    if (commits) atHand.keep(met);
    return asked.length;
  };
  return { atHand, turn };
};

verifies("RUN-52", "only what a committed turn has read is at hand", () => {
  const { turn } = bench();
  const both = (reads: Reads): void => {
    expect(reads.anchor(anchorHash(1))).toEqual({ hash: anchorHash(1) });
    expect(reads.core(recordHash(1))).toEqual({ hash: recordHash(1) });
  };
  expect([turn(false, both), turn(true, both), turn(true, both)]).toEqual([2, 2, 0]);
});

verifies("RUN-52", "what the store does not hold is asked for again", () => {
  const { turn } = bench();
  const missing = (reads: Reads): void =>
    expect([reads.anchor(anchorHash(200)), reads.core(recordHash(200))]).toEqual([null, null]);
  expect([turn(true, missing), turn(true, missing)]).toEqual([2, 2]);
});

verifies("RUN-52", "a core that is not open any more is let go, and of many the latest are kept", () => {
  const { atHand, turn } = bench();
  const core = (n: number) => (reads: Reads) => void reads.core(recordHash(n));
  turn(true, core(1));
  atHand.keep([{ kind: "core", hash: recordHash(1), core: null }]);
  expect(turn(true, core(1))).toBe(1);
  for (let n = 2; n <= 100; n++) turn(true, core(n));
  expect([turn(false, core(100)), turn(false, core(1))]).toEqual([0, 1]);
  const anchor = (n: number) => (reads: Reads) => void reads.anchor(anchorHash(n));
  for (let n = 0; n <= 199; n++) turn(true, anchor(n));
  expect([turn(false, anchor(199)), turn(false, anchor(1))]).toEqual([0, 1]);
});
