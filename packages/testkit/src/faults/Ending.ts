// The end of a run: quiet, then everything read, verified and exported through the endpoints, then a clean stop, and the
// disks judged a last time at rest.

import { setTimeout as sleep } from "node:timers/promises";
import * as DiskOracle from "../network/DiskOracle.ts";
import * as DiskLaws from "./DiskLaws.ts";
import * as Histories from "./Histories.ts";
import type * as IngressLaws from "./IngressLaws.ts";
import * as Plan from "./Plan.ts";
import { journalsOf, judgeDisks, patienceMs, type Stage } from "./Stage.ts";

const stopMsMax = 20_000;

/** Waits until everybody was handed what the books owe it. Progress buys more time; its absence is a fault. */
export const drain = async (stage: Stage, settled: ReadonlyArray<Promise<unknown>>): Promise<void> => {
  const { books, faults } = stage;
  const done = Promise.all(settled).then(() => true);
  const seen = (): number =>
    [...journalsOf(stage).values()].reduce(
      (sum, journal) => sum + journal.entries().length,
      stage.ingress?.attempts() ?? 0,
    );
  let last = -1;
  for (;;) {
    const waited = await Promise.race([
      done,
      faults.found.then(() => true),
      sleep(patienceMs, false, { ref: false }),
    ]);
    if (waited) return;
    const now = seen() + books.count();
    if (now === last) {
      for (const [name, journal] of journalsOf(stage)) {
        const missing = books.owedTo(name) - journal.entries().length;
        if (missing > 0) faults.add(`${name} still misses ${missing} items`);
      }
      return faults.add("the run does not become quiet");
    }
    last = now;
  }
};

export interface Conclusion {
  readonly recordsVerified: number;
  /** Null where nobody is hooked. */
  readonly ingress: IngressLaws.Counts | null;
}

/** Reads, verifies, exports; then stops everybody and judges the disks a last time. */
export const conclude = async (stage: Stage): Promise<Conclusion> => {
  const { options, endpoints, books, faults, network, newcomers, residents } = stage;
  const { registryKey } = network.description;
  const counts = await Promise.all(
    endpoints.map((endpoint) => Histories.verifyAt(endpoint, registryKey, books, faults)),
  );
  const random = Plan.randomOf(options.plan.seed, "exports");
  const exporter = random.pick(endpoints);
  const { members } = random.pick(
    options.plan.conversations.filter((one) => one.members.includes(exporter.name)),
  );
  const others = members.filter((name) => name !== exporter.name);
  const address = others.length === 1 ? `agent:${others[0]}` : `group:${members.join(",")}`;
  await Histories.verifyExport(exporter, address, options.folder, registryKey, faults);
  await newcomers.check();
  for (const resident of [...residents.values()].reverse()) {
    if (!(await resident.stop(stopMsMax))) faults.add(`${resident.name} did not stop cleanly`);
  }
  const { late } = judgeDisks(
    stage,
    endpoints.map(({ name }) => name),
  );
  DiskLaws.askSettled(late, books, journalsOf(stage), faults);
  const verdict = DiskOracle.judge(
    endpoints.map(({ database }) => database),
    { quiet: true },
  );
  for (const problem of verdict.problems) faults.add(problem);
  return {
    recordsVerified: counts.reduce((sum, count) => sum + count, 0),
    ingress: stage.ingress?.judge(late, books) ?? null,
  };
};
