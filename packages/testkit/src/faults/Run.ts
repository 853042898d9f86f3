// One run: a network and six endpoints as real processes under traffic from real MCP clients, struck round after round as
// the plan says, the disks judged after every kill; then quiet, and everything is judged again, read and verified.

import { setTimeout as sleep } from "node:timers/promises";
import * as Author from "./Author.ts";
import * as Consumer from "./Consumer.ts";
import * as Ending from "./Ending.ts";
import type { Endpoint } from "./Endpoint.ts";
import { Faults } from "./Fault.ts";
import type * as IngressLaws from "./IngressLaws.ts";
import * as Plan from "./Plan.ts";
import * as Process from "./Process.ts";
import {
  journalsOf,
  judgeDisks,
  patienceMs,
  raise,
  residentOf,
  type RunOptions,
  type Stage,
} from "./Stage.ts";

export interface Outcome {
  readonly faults: ReadonlyArray<string>;
  readonly posts: number;
  readonly items: number;
  readonly kills: number;
  /** Changes to files and folders that power cuts have undone; 0 where kills were only kills. */
  readonly dropped: number;
  readonly newcomers: number;
  readonly recordsVerified: number;
  /** What came to the receiver of the webhooks; null where there is none. */
  readonly ingress: IngressLaws.Counts | null;
  /** The longest that an author waited for an answer. Told, not judged: it depends on the machine. */
  readonly longestWaitMs: number;
}

/** A round is under traffic: so many posts are answered before the next one begins. */
const postsBetweenRounds = 10;
const lookMs = 50;
const aimMsMax = 2_000;

/** Waits until the aim is taken: a moment into a call, or for nothing when there is none. */
const taken = async ({ endpoints, ingress }: Stage, { endpoint, tool, lateMs }: Plan.Aim): Promise<void> => {
  const target = endpoints.find(({ name }) => name === endpoint);
  const begun = tool === "delivery" ? ingress?.nextDelivery(endpoint) : target?.client.nextCall(tool);
  await Promise.race([begun, sleep(aimMsMax, undefined, { ref: false })]);
  await sleep(lateMs);
};

/** Carries out one strike and brings its victims back; the number of kills. */
const strike = async (
  stage: Stage,
  { victims, afterMs, aim, kind, warnedMs, awayMs, againMs }: Plan.Strike,
): Promise<number> => {
  const struck = victims.map((name) => residentOf(stage, name));
  await sleep(afterMs);
  if (aim !== null) await taken(stage, aim);
  if (kind === "pause") {
    for (const resident of struck) resident.pause();
    await sleep(awayMs);
    for (const resident of struck) resident.resume();
    return 0;
  }
  const kill = async (warned: number | null): Promise<void> => {
    await Promise.all(struck.map((resident) => resident.kill(warned)));
    judgeDisks(stage, victims);
  };
  await kill(warnedMs);
  await sleep(awayMs);
  for (const ms of againMs) {
    for (const resident of struck) void resident.start();
    await sleep(ms);
    await kill(null);
  }
  await Promise.all(struck.map((resident) => resident.start()));
  return struck.length * (1 + againMs.length);
};

const untilTraffic = async ({ books, faults }: Stage, posts: number): Promise<void> => {
  const until = performance.now() + patienceMs;
  while (books.count() < posts && faults.sentences.length === 0) {
    if (performance.now() > until) return faults.add(`no post was answered for ${patienceMs} ms`);
    await sleep(lookMs);
  }
};

const perform = async (stage: Stage): Promise<Outcome> => {
  const { options, faults, books, endpoints, newcomers, ingress } = stage;
  const { plan, say } = options;
  let writing = true;
  let written = false;
  const consuming = endpoints.map((endpoint) => {
    const { name, client, journalFile } = endpoint;
    if (ingress?.isHooked(name) === true)
      return ingress.host(
        endpoint,
        (arrived) => faults.sentences.length === 0 && (!written || arrived < books.owedTo(name)),
      );
    return Consumer.consume({
      name,
      client,
      journalFile,
      faults,
      random: Plan.randomOf(plan.seed, `consumer ${name}`),
      goesOn: (seen, isEmpty) =>
        faults.sentences.length === 0 && (!written || !isEmpty || seen < books.owedTo(name)),
    });
  });
  const goesOn = (): boolean => writing && faults.sentences.length === 0;
  const authors: Array<Promise<void>> = [newcomers.arrive(goesOn)];
  const open = (round: number): void => {
    for (const { members } of plan.conversations.filter(({ opensAt }) => opensAt === round)) {
      for (const name of members) {
        const { client } = endpoints.find((endpoint) => endpoint.name === name) as Endpoint;
        const random = Plan.randomOf(plan.seed, `author ${name} ${members.join()}`);
        authors.push(Author.write({ name, members, client, random, books, faults, goesOn }));
      }
    }
  };
  let kills = 0;
  open(0);
  await untilTraffic(stage, postsBetweenRounds);
  for (const [index, one] of plan.strikes.entries()) {
    const round = index + 1;
    open(round);
    const before = books.count();
    kills += await strike(stage, one);
    await untilTraffic(stage, before + postsBetweenRounds);
    say(`round ${round} of seed ${plan.seed}: ${Plan.describe(one)}; ${books.count()} posts so far`);
    if (faults.sentences.length > 0) break;
  }
  writing = false;
  // All conversations have opened by now or never will, so the list of authors is complete.
  const closing = Promise.all(authors).then(() => {
    written = true;
  });
  await Ending.drain(stage, [closing, ...consuming]);
  const conclusion =
    faults.sentences.length === 0 ? await Ending.conclude(stage) : { recordsVerified: 0, ingress: null };
  const items = [...journalsOf(stage).values()].reduce((sum, journal) => sum + journal.entries().length, 0);
  return {
    faults: faults.sentences,
    posts: books.count(),
    items,
    kills,
    dropped: stage.dropped(),
    newcomers: newcomers.count(),
    ...conclusion,
    longestWaitMs: books.longestWaitMs(),
  };
};

/** Performs the plan. Every process is gone when this resolves or rejects. */
export const run = async (options: RunOptions): Promise<Outcome> => {
  const faults = new Faults();
  let stage: Stage | null = null;
  try {
    stage = await raise(options, faults);
    return await perform(stage);
  } catch (error) {
    // Also ends whoever still writes and reads.
    faults.add(`the run itself failed: ${String(error)}`);
    throw error;
  } finally {
    Process.endAll();
    stage?.ingress?.close();
  }
};
