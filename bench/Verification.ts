// How fast certified records are verified, one by one and many at a time over the thread pool, beside the signature library
// alone at the same signatures on the same processors. Rounds of both alternate.

import { verifyRecords } from "@social-harness/endpoint/store/VerifyRecords";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import { type ChainHead, type Trust, verifyNext } from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as Chains from "@social-harness/testkit/Chains";
import * as Conversations from "../tools/vectors/Conversations.ts";
import { registry } from "../tools/vectors/People.ts";
import * as Rounds from "../tools/vectors/Rounds.ts";
import * as BareSignatures from "./BareSignatures.ts";
import type { Line, Question } from "./Line.ts";
import { cpuMsSince, median } from "./Statistics.ts";

const sizes = [
  { n: 2, records: 128, later: false },
  { n: 8, records: 32, later: false },
  // Under a later round every record brings the statements of q(n) members along.
  { n: 8, records: 32, later: true },
];
const rounds = 15;
/** As start-up and history reads hand them over. */
const batch = 64;

/** Of their ancestors these chains ask nothing but that no post is repeated, and they repeat none. */
const nothingBelow = VerifiedChain.ancestryOf([]);

const inline = (records: ReadonlyArray<HistoryRecord>, trust: Trust): void => {
  let head: ChainHead | null = null;
  for (const record of records) head = verifyNext(trust, head, record, nothingBelow);
};

const pooled = async (records: ReadonlyArray<HistoryRecord>, trust: Trust): Promise<void> => {
  let head: ChainHead | null = null;
  for (let at = 0; at < records.length; at += batch) {
    head = await verifyRecords(trust, head, records.slice(at, at + batch), nothingBelow);
  }
};

/** By the wall clock: over the pool several processors work at once. */
const perSecond = async (count: number, work: () => Promise<void>): Promise<number> => {
  const started = performance.now();
  await work();
  return (count * 1_000) / (performance.now() - started);
};

/** By the processor's clock, which other programs do not move. */
const perProcessorSecond = (count: number, work: () => void): number => {
  const start = process.cpuUsage();
  work();
  return (count * 1_000) / cpuMsSince(start);
};

const inRoundZero = (n: number, count: number): ReadonlyArray<HistoryRecord> => {
  const names = Array.from({ length: n }, (_, i) => `member-${i + 1}`);
  const posts = Array.from({ length: count }, (_, i) => ({
    author: names[i % n] as string,
    text: `Post ${i}, about as long as people write.`,
  }));
  return Chains.chain(names, posts).records;
};

/** The conversation opened in round 1, and every record stands under that round's re-anchor. */
const inLaterRound = (n: number, count: number): ReadonlyArray<HistoryRecord> => {
  const cast = Conversations.castOfSize(n);
  const anchor = Rounds.begun(cast, 1, null);
  const records: Array<HistoryRecord> = [];
  while (records.length < count) records.push(Rounds.recordUnder(cast, anchor, records.at(-1) ?? null));
  return records;
};

const linesOf = async (n: number, count: number, later: boolean): Promise<ReadonlyArray<Line>> => {
  const records = later ? inLaterRound(n, count) : inRoundZero(n, count);
  const trust: Trust = later ? { verifier: Ed25519.verifier, registryKey: registry.publicKey } : Chains.trust;
  const bare = BareSignatures.of(records, trust);
  const rates = {
    inline: [] as Array<number>,
    pooled: [] as Array<number>,
    bareInline: [] as Array<number>,
    barePooled: [] as Array<number>,
  };
  for (let round = 0; round < rounds; round++) {
    rates.inline.push(perProcessorSecond(count, () => inline(records, trust)));
    rates.bareInline.push(perProcessorSecond(count, () => BareSignatures.verifyInline(bare)));
    rates.pooled.push(await perSecond(count, () => pooled(records, trust)));
    rates.barePooled.push(await perSecond(count, () => BareSignatures.verifyInPool(bare)));
  }
  const line = (how: string, ours: number, library: number, atLeast: number): Line => ({
    name: `records verified ${how}, ${n} members${later ? ", round 1" : ""}`,
    measured: { value: ours, unit: "/s" },
    against: { value: library, unit: "/s", name: "the library's signatures alone" },
    target: { atLeast },
  });
  return [
    line("one by one", median(rates.inline), median(rates.bareInline), 0.6),
    line("over the pool", median(rates.pooled), median(rates.barePooled), 0.5),
  ];
};

export const verification: Question = {
  name: "verification",
  asks: "How fast are certified records verified, beside the signature library alone?",
  answer: async () => {
    const lines: Array<Line> = [];
    for (const { n, records, later } of sizes) lines.push(...(await linesOf(n, records, later)));
    return lines;
  },
};
