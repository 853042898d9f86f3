// What a post costs as its conversation grows: envelopes, which the protocol counts exactly, and processor time, beside the
// signatures that no member may leave out. All members share this process; the network has its own.

import { setTimeout as sleep } from "node:timers/promises";
import { quorumOf } from "@social-harness/protocol/history/Quorum";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import * as Costs from "./Costs.ts";
import { type Fleet, withFleet } from "./Fleet.ts";
import type { Line, Question } from "./Line.ts";
import { cpuMsSince, median } from "./Statistics.ts";

/** Posts of one measurement by the size of the conversation: enough for the processor clock, few enough to be quick. */
const sizes: ReadonlyArray<{ readonly n: number; readonly posts: number }> = [
  { n: 2, posts: 120 },
  { n: 3, posts: 80 },
  { n: 8, posts: 40 },
  { n: 32, posts: 10 },
];
const warmUpPosts = 10;
/** Longer than anything that a finished post still brings about: spreading would come after at most 8 s, and never comes. */
const quietMs = 400;

/** Three for two members; else three multicasts, and two votes of each member but the author. */
const envelopesOf = (n: number): number => (n === 2 ? 3 : 3 + 2 * (n - 1));

/**
 * Signatures that all members together must make and verify for one post: on every delivery of another's envelope its lane
 * head and itself, on an own copy the lane head alone, and each vote and proposal once at each member.
 */
const signaturesOf = (n: number): { readonly signs: number; readonly verifies: number } => {
  const others = n - 1;
  if (n === 2) {
    // author: 3 signs, then 2; peer: 3. Deliveries: author 1 and 2 own copies, peer 2. Proposal, 2 + 2 votes.
    return { signs: 8, verifies: 2 + 2 + 4 + 1 + 2 + 2 };
  }
  const quorum = quorumOf(n);
  const author = { signs: 5, verifies: 3 + 2 * 3 * others };
  // Each member: 3 lane heads, 3 envelopes, the proposal; the quorum's other votes of both kinds.
  const member = { signs: 4, verifies: 7 + 2 * (quorum - 1) };
  return {
    signs: author.signs + others * member.signs,
    verifies: author.verifies + others * member.verifies,
  };
};

interface Cost {
  readonly envelopes: number;
  /** Of all members together. */
  readonly cpuMs: number;
  readonly signaturesCpuMs: number;
  readonly routerCpuMs: number;
  readonly routerSignaturesCpuMs: number;
}

/** Posts one after another until all are items everywhere and nothing moves any more. */
const post = async ({ agents }: Fleet, to: string, posts: number, before: number): Promise<void> => {
  const [author, ...others] = agents as readonly [NetworkAgent, ...ReadonlyArray<NetworkAgent>];
  for (let i = 1; i <= posts; i++) {
    const { status } = await author.send(to, `Post ${before + i} to everybody here.`);
    if (status !== "certified") throw new Error("a post was not certified in time");
  }
  for (const other of others) await other.untilItems(before + posts);
  await sleep(quietMs);
};

const measure = (n: number, posts: number): Promise<Cost> =>
  withFleet(n, async (fleet) => {
    const names = fleet.agents.map(({ name }) => name);
    const to = n === 2 ? `agent:${names[1]}` : `group:${names.join(",")}`;
    await post(fleet, to, warmUpPosts, 0);
    const costs = [Costs.signatureCpu()];
    const before = await fleet.network.spent();
    const start = process.cpuUsage();
    await post(fleet, to, posts, warmUpPosts);
    const cpuMs = cpuMsSince(start) / posts;
    const after = await fleet.network.spent();
    costs.push(Costs.signatureCpu());
    const sign = median(costs.map((cost) => cost.sign));
    const verify = median(costs.map((cost) => cost.verify));
    const { signs, verifies } = signaturesOf(n);
    return {
      envelopes: (after.accepted - before.accepted) / posts,
      cpuMs,
      signaturesCpuMs: signs * sign + verifies * verify,
      routerCpuMs: (after.cpuMs - before.cpuMs) / posts,
      routerSignaturesCpuMs: envelopesOf(n) * (sign + verify),
    };
  });

const linesOf = (n: number, cost: Cost): ReadonlyArray<Line> => [
  {
    name: `envelopes a post, ${n} members`,
    measured: { value: cost.envelopes, unit: "" },
    against: { value: envelopesOf(n), unit: "", name: "by the protocol" },
    target: { atMost: 1 },
  },
  {
    name: `CPU a member and post, ${n} members`,
    measured: { value: cost.cpuMs / n, unit: "ms" },
    against: { value: cost.signaturesCpuMs / n, unit: "ms", name: "its signatures alone" },
    target: { atMost: n === 32 ? 4 : 6 },
  },
  {
    name: `CPU of the Router a post, ${n} members`,
    measured: { value: cost.routerCpuMs, unit: "ms" },
    against: { value: cost.routerSignaturesCpuMs, unit: "ms", name: "its signatures alone" },
    target: { atMost: 14 },
  },
];

export const groups: Question = {
  name: "groups",
  asks: "What does a post cost in conversations of 2, 3, 8 and 32 members?",
  answer: async () => {
    const lines: Array<Line> = [];
    for (const { n, posts } of sizes) lines.push(...linesOf(n, await measure(n, posts)));
    return lines;
  },
};
