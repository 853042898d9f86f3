// Everything of one run that is alive at the same time: the network, the endpoints, the books of what was said, and the
// faults found so far. Raises it, and judges its disks at any instant.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Grid, Supply } from "../storage/PowerCut.ts";
import * as Bindings from "./Bindings.ts";
import * as Books from "./Books.ts";
import * as Disk from "./Disk.ts";
import * as DiskLaws from "./DiskLaws.ts";
import * as Endpoint from "./Endpoint.ts";
import type { Faults } from "./Fault.ts";
import * as Ingress from "./Ingress.ts";
import * as Journal from "./Journal.ts";
import * as Newcomers from "./Newcomers.ts";
import * as Plan from "./Plan.ts";
import type * as Resident from "./Resident.ts";
import * as Services from "./Services.ts";

export interface RunOptions {
  readonly plan: Plan.Plan;
  /** Everything of the run is in here; whoever gave it removes it. */
  readonly folder: string;
  /** Where it is given, every kill is a power cut: what was not synced is gone. */
  readonly grid?: Grid;
  readonly say: (line: string) => void;
}

/** Without any progress for so long, what is missing will not come. Doubling intervals of silence are far shorter here. */
export const patienceMs = 120_000;

export interface Stage {
  readonly options: RunOptions;
  readonly faults: Faults;
  readonly books: Books.Books;
  readonly network: Services.Network;
  readonly endpoints: ReadonlyArray<Endpoint.Endpoint>;
  readonly newcomers: Newcomers.Newcomers;
  readonly residents: ReadonlyMap<string, Resident.Resident>;
  readonly bindings: Bindings.Bindings;
  /** Null where nobody is hooked. */
  readonly ingress: Ingress.Ingress | null;
  /** Changes that the power cuts so far have undone. */
  readonly dropped: () => number;
}

/** Starts the network and every endpoint. */
export const raise = async (options: RunOptions, faults: Faults): Promise<Stage> => {
  const { folder, plan, grid } = options;
  const onUnexpectedEnd = (how: string): void => faults.add(`${how}; its last words are in ${folder}`);
  let dropped = 0;
  const plug =
    grid === undefined
      ? null
      : (name: string, disk: string): Supply => {
          const { environment, cut } = grid(name, disk, Plan.randomOf(plan.seed, `power ${name}`));
          return { environment, cut: () => (dropped += cut()) };
        };
  const ingress = plan.ingress ? await Ingress.open({ plan, folder, faults }) : null;
  const network = await Services.start({ services: plan.services, folder, plug, onUnexpectedEnd });
  const endpoints = await Promise.all(
    Plan.cast.map((name) =>
      Endpoint.settle({
        name,
        folder,
        network: network.description,
        prepare: ingress?.isHooked(name) === true ? (state) => Ingress.prepare(name, state) : null,
        plug,
        onUnexpectedEnd,
      }),
    ),
  );
  const residents = [...network.residents, ...endpoints.map(({ resident }) => resident)];
  return {
    options,
    faults,
    books: Books.create(),
    network,
    endpoints,
    newcomers: Newcomers.create({
      network: network.description,
      random: Plan.randomOf(plan.seed, "newcomers"),
      faults,
    }),
    residents: new Map(residents.map((resident) => [resident.name, resident])),
    bindings: Bindings.create(),
    ingress,
    dropped: () => dropped,
  };
};

export const residentOf = ({ residents }: Stage, name: string): Resident.Resident => {
  const found = residents.get(name);
  if (found === undefined) throw new RangeError(`nobody is called ${name}`);
  return found;
};

/** The journal of every host that reads an inbox, as its file has it now. */
export const journalsOf = ({
  endpoints,
  ingress,
}: Pick<Stage, "endpoints" | "ingress">): ReadonlyMap<string, Journal.Journal> =>
  new Map(
    endpoints
      .filter(({ name }) => ingress?.isHooked(name) !== true)
      .map(({ name, journalFile }) => [name, Journal.open(journalFile)]),
  );

/** Holds the stores of everybody against the laws of every instant. Runs in one go: nothing happens here meanwhile. */
export const judgeDisks = (
  { options, endpoints, books, faults, bindings, ingress }: Stage,
  dead: ReadonlyArray<string>,
): DiskLaws.Readings => {
  const copies = join(options.folder, "disks");
  mkdirSync(copies, { recursive: true });
  const journals = journalsOf({ endpoints, ingress });
  const readAll = (): ReadonlyArray<Disk.Disk> =>
    endpoints.map(({ name, database }) =>
      dead.includes(name) ? Disk.readDead(name, database, join(copies, name)) : Disk.read(name, database),
    );
  const readings = { early: readAll(), late: readAll() };
  DiskLaws.askAlways(readings, books, journals, faults);
  for (const disks of [readings.early, readings.late]) bindings.ask(disks, faults);
  return readings;
};
