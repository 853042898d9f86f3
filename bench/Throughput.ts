// How many posts a second become certified, in one conversation, where each must wait for the one before, and across fifty
// that share commits, beside what group commit and signatures alone would allow. All endpoints share this process, hence
// one processor; the network has its own.

import { join } from "node:path";
import { openSqliteLog, type SqliteLog } from "@social-harness/log/SqliteLog";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import * as CostMeter from "./Costs.ts";
import { type Fleet, withFleet } from "./Fleet.ts";
import type { Line, Question } from "./Line.ts";
import { cpuMsSince, median } from "./Statistics.ts";

/** Eleven agents have fifty-five pairs: fifty direct conversations. */
const agents = 11;
const conversations = 50;
const rounds = 4;
const postsInOne = 60;
const postsInEach = 4;
/** Posts that wait behind the one under way, so that the next proposal leaves with the notice of the last. */
const waiting = 4;
/** Commits that follow one another for a post when posts follow each other: author, Router, peer, Router. */
const commitsOfPost = 4;
/** Signatures of a direct post at both endpoints, see Groups.ts. */
const signs = 8;
const verifies = 13;

interface Pair {
  readonly author: NetworkAgent;
  readonly to: string;
}

const pairsOf = (fleet: Fleet): ReadonlyArray<Pair> =>
  fleet.agents
    .flatMap((author, i) => fleet.agents.slice(i + 1).map(({ name }) => ({ author, to: `agent:${name}` })))
    .slice(0, conversations);

const postTo = async ({ author, to }: Pair, count: number): Promise<void> => {
  for (let i = 0; i < count; i++) {
    const { status } = await author.send(to, `One of many posts, number ${i}.`);
    if (status !== "certified") throw new Error("a post was not certified in time");
  }
};

const perSecond = async (count: number, work: Promise<unknown>): Promise<number> => {
  const started = performance.now();
  await work;
  return (count * 1_000) / (performance.now() - started);
};

const inOne = (pair: Pair): Promise<number> => {
  const lanes = Array.from({ length: waiting }, () => postTo(pair, postsInOne / waiting));
  return perSecond(postsInOne, Promise.all(lanes));
};

const acrossAll = (pairs: ReadonlyArray<Pair>): Promise<number> =>
  perSecond(pairs.length * postsInEach, Promise.all(pairs.map((pair) => postTo(pair, postsInEach))));

/** As many writers as conversations, each with as many commits in a row as a post has, all sharing one group commit. */
const groupCommits = (log: SqliteLog): Promise<number> => {
  const bytes = Buffer.alloc(2_048, 7);
  const writer = async (): Promise<void> => {
    for (let i = 0; i < postsInEach * commitsOfPost; i++) await log.append("bench", bytes);
  };
  const writers = Array.from({ length: conversations }, writer);
  return perSecond(conversations * postsInEach, Promise.all(writers));
};

const answer = (): Promise<ReadonlyArray<Line>> =>
  withFleet(agents, async (fleet) => {
    const pairs = pairsOf(fleet);
    const log = openSqliteLog(join(fleet.folder, "group-commits.sqlite"));
    const meter = CostMeter.openMeter(fleet.folder);
    const one: Array<number> = [];
    const all: Array<number> = [];
    const commits: Array<number> = [];
    const groups: Array<number> = [];
    const cpu: Array<number> = [];
    const signatures: Array<number> = [];
    await Promise.all(pairs.map((pair) => postTo(pair, 1)));
    for (let round = 0; round < rounds; round++) {
      commits.push(1_000 / (commitsOfPost * meter.commit()));
      one.push(await inOne(pairs[0] as Pair));
      commits.push(1_000 / (commitsOfPost * meter.commit()));
      const costs = CostMeter.signatureCpu();
      signatures.push(signs * costs.sign + verifies * costs.verify);
      const start = process.cpuUsage();
      all.push(await acrossAll(pairs));
      cpu.push(cpuMsSince(start) / (conversations * postsInEach));
      groups.push(await groupCommits(log));
    }
    meter.close();
    await log.close();
    const line = (name: string, value: number, against: number, beside: string, atLeast: number): Line => ({
      name,
      measured: { value, unit: "/s" },
      against: { value: against, unit: "/s", name: beside },
      target: { atLeast },
    });
    const across = `posts across ${conversations} conversations`;
    return [
      line("posts in one conversation", median(one), median(commits), "by four commits in a row", 0.2),
      line(across, median(all), median(groups), "by four group commits in a row", 0.02),
      line(across, median(all), median(one), "in one conversation", 1.2),
      {
        name: `CPU a post across ${conversations} conversations`,
        measured: { value: median(cpu), unit: "ms" },
        against: { value: median(signatures), unit: "ms", name: "its signatures alone" },
        target: { atMost: 4 },
      },
    ];
  });

export const throughput: Question = {
  name: "throughput",
  asks: "How many posts a second are certified, in one conversation and across fifty?",
  answer,
};
