// Kills one daemon at its numbered steps, which are its calls that change a file: each phase of its life as often as it has
// steps, right before the first of them, the second, and so on. After each kill it is started again, everything that was
// asked for goes on, and the disks are judged. Tells how many steps there are, so that one that was left out is seen.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Network } from "../network/Network.ts";
import type { FaultyDisk, Step } from "../storage/FaultyDisk.ts";
import type { Phase } from "./Phases.ts";
import * as Scene from "./Scene.ts";

export interface StepsOptions {
  readonly phase: Phase;
  readonly network: Network;
  readonly disk: FaultyDisk;
  /** New, and removed by whoever gave it. */
  readonly folder: string;
  /** Of so many steps, those before which it shall be killed; all where it is left out. */
  readonly choose?: (steps: number) => ReadonlyArray<number>;
}

export interface Report {
  readonly phase: string;
  /** As many as the longest undisturbed course has. */
  readonly steps: number;
  readonly killed: number;
  /** How many steps are of which call. */
  readonly calls: Readonly<Record<string, number>>;
  /** What broke, and where; empty when all is well. */
  readonly problems: ReadonlyArray<string>;
}

/** What comes after the answer, as the commit of a position, comes soon after it or never. */
const quietMs = 200;
const lookMs = 20;

/** Of steps that come and go from one course to the next, as when two commits become one: how often they are tried. */
const triesMax = 3;

interface Struck {
  readonly isKilled: boolean;
  readonly steps: ReadonlyArray<Step>;
}

/** Until the victim takes no more steps. */
const quiet = async (disk: FaultyDisk): Promise<void> => {
  let last = -1;
  let since = performance.now();
  while (performance.now() - since < quietMs) {
    const { length } = disk.steps();
    if (length !== last) {
      last = length;
      since = performance.now();
    }
    await sleep(lookMs);
  }
};

const inTime = async (what: string, work: Promise<unknown>): Promise<void> => {
  const late = sleep(Scene.patienceMs, "late" as const, { ref: false });
  if ((await Promise.race([work, late])) === "late")
    throw new Error(`${what} did not come to its end in ${Scene.patienceMs} ms`);
};

/** Everything goes on: the victim posts, and takes what has come. Then the disks are judged at rest. */
const goOn = async (scene: Scene.Scene): Promise<void> => {
  const { victim, peers, host } = scene;
  await scene.register();
  await scene.post(
    victim.name,
    peers.slice(0, 1).map((peer) => peer.name),
  );
  await scene.rest();
  for (const token of await host.read()) await host.acknowledge(token);
  scene.judgeRested();
};

/** One course of the phase: killed before the step after `after` others, or undisturbed. */
const strike = async (
  { phase, disk }: StepsOptions,
  scene: Scene.Scene,
  number: number,
  after: number | null,
): Promise<Struck> => {
  const { resident } = scene.victim;
  await phase.arrange(scene, number);
  const fallen = scene.fallen();
  if (after === null) disk.watch();
  else disk.fail({ which: "changes", by: "SIGKILL", after });
  const acting = phase.act(scene, number);
  const over = acting.then(async () => {
    if (resident.pid() === 0) return;
    await scene.rest();
    await quiet(disk);
  });
  over.catch(() => undefined);
  await inTime("the course", Promise.race([over, fallen]));
  disk.heal();
  const steps = disk.steps();
  const isKilled = after !== null && steps.length > after;
  if (isKilled) {
    await resident.kill();
    scene.judgeFallen();
  } else if (!(await Promise.race([acting, fallen.then(() => false)]))) {
    throw new Error("the daemon failed, and nothing had disturbed it");
  }
  if (resident.pid() === 0 && !(await resident.start())) throw new Error("the daemon does not start again");
  await inTime("what was asked for", acting);
  await inTime("what comes after it", goOn(scene));
  return { isKilled, steps };
};

const callsOf = (steps: ReadonlyArray<Step>): Report["calls"] =>
  Object.fromEntries(
    [...Map.groupBy(steps, ({ call }) => call)].map(([call, those]) => [call, those.length]),
  );

/** Performs the phase again and again. Resolves with what broke too; every process of it is gone then. */
export const run = async (options: StepsOptions): Promise<Report> => {
  const { phase, network, disk, folder, choose } = options;
  const problems: Array<string> = [];
  let current: Scene.Scene | null = null;
  let courses = 0;

  const sceneOf = async (number: number): Promise<Scene.Scene> => {
    if (current !== null && !phase.isFresh) return current;
    await current?.close();
    const name = phase.isFresh ? `${phase.name}-${number}` : phase.name;
    const scene = await Scene.raise({ network, disk, folder: join(folder, name), name, peers: phase.peers });
    current = scene;
    if (phase.isFresh) return scene;
    if (!(await scene.victim.resident.start())) throw new Error("the daemon did not start");
    await goOn(scene);
    return scene;
  };

  const course = async (after: number | null): Promise<Struck> => {
    const number = courses++;
    try {
      return await strike(options, await sceneOf(number), number, after);
    } catch (error) {
      problems.push(String(error));
      return { isKilled: false, steps: disk.steps() };
    } finally {
      disk.heal();
      problems.push(...(current?.faults.sentences ?? []));
      if (problems.length > 0) {
        const last = disk.steps().at(-1);
        const where = after === null ? "undisturbed" : `before step ${after + 1}`;
        problems.unshift(`${where}, with the last step ${last?.call} ${last?.path}`);
      }
    }
  };

  const undisturbed = await course(null);
  let { length: steps } = undisturbed.steps;
  let killed = 0;
  const chosen = choose?.(steps);
  for (let index = 0; problems.length === 0; index++) {
    const after = chosen === undefined ? index : chosen[index];
    if (after === undefined) break;
    const tries = after < steps ? triesMax : 1;
    let { isKilled } = await course(after);
    for (let tried = 1; !isKilled && problems.length === 0 && tried < tries; tried++)
      ({ isKilled } = await course(after));
    if (isKilled) killed++;
    if (isKilled) steps = Math.max(steps, after + 1);
    else if (after >= steps) break;
  }
  await (current as Scene.Scene | null)?.close();
  return { phase: phase.name, steps, killed, calls: callsOf(undisturbed.steps), problems };
};
