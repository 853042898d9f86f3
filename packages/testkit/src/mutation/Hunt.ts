// Hunts mutants: each in a copy of its own, in a process of its own, as many at once as there are cores. What a mutant is
// caught at must hold without it, else it proves nothing. All copies are of the sources as they were when the hunt began.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { apply, type Mutant } from "./Mutant.ts";
import type { Searched, SearchOptions } from "./Search.ts";
import * as SourceCopy from "./SourceCopy.ts";

export interface Hunted extends Searched {
  readonly mutant: Mutant;
  /** It was caught, at a seed that holds without it. */
  readonly caught: boolean;
  /** Why not, or null. */
  readonly escape: string | null;
  readonly seconds: number;
}

export interface HuntOptions {
  readonly first: number;
  /** Seeds for each mutant; null: as many as each states. */
  readonly seeds: number | null;
  readonly jobs: number;
  readonly onHunted?: (hunted: Hunted) => void;
}

/** A mutant that makes the fold run for ever is not caught: no oracle has said anything. */
const secondsMax = 600;

const nothing: Searched = { sighting: null, seeds: 0, defects: 0, defect: null };

/** Searches in a copy. A process that ends otherwise than with its result says how. */
const searchIn = (folder: string, options: SearchOptions): Promise<Searched | string> =>
  new Promise((resolve) => {
    const program = join(folder, "packages/testkit/src/mutation/Search.ts");
    const timeout = secondsMax * 1_000;
    execFile(process.execPath, [program, JSON.stringify(options)], { timeout }, (error, stdout, stderr) => {
      if (error === null) resolve(JSON.parse(stdout) as Searched);
      else if (error.killed === true) resolve(`no end within ${secondsMax} s`);
      else resolve(stderr.split("\n").find((line) => /Error/.test(line)) ?? error.message);
    });
  });

type Result = Pick<Hunted, "escape"> & Searched;

const escaped = (escape: string, searched: Searched = nothing): Result => ({ ...searched, escape });

/** Searches on while what is found is found without the mutant too, in the pristine copy. */
const searchOn = async (
  { scenario }: Mutant,
  { first, count }: Pick<SearchOptions, "first" | "count">,
  folder: string,
  pristine: string,
): Promise<Result> => {
  let seeds = 0;
  let escape: string | null = null;
  while (seeds < count) {
    const searched = await searchIn(folder, { first: first + seeds, count: count - seeds, scenario });
    if (typeof searched === "string") return escaped(searched);
    seeds += searched.seeds;
    const { sighting, defects, defect } = searched;
    if (sighting === null) {
      escape ??=
        defects === 0 ? "no oracle objects" : `no oracle objects; ${defects} seeds end with: ${defect}`;
      return escaped(escape, { ...searched, seeds });
    }
    const without = await searchIn(pristine, { first: sighting.seed, count: 1, scenario });
    if (typeof without === "string") return escaped(without);
    const failure = without.sighting?.message ?? without.defect;
    if (failure === null) return { ...searched, seeds, escape: null };
    escape = `seed ${sighting.seed} fails without it too: ${failure}`;
  }
  return escaped(escape ?? "no seeds", { ...nothing, seeds });
};

const hunt = async (mutant: Mutant, { first, seeds }: HuntOptions, pristine: string): Promise<Hunted> => {
  const started = performance.now();
  const copy = SourceCopy.create(pristine);
  try {
    apply(mutant, copy.read, copy.write);
    const count = seeds ?? mutant.seeds;
    const result = await searchOn(mutant, { first, count }, copy.folder, pristine);
    const seconds = (performance.now() - started) / 1_000;
    return { ...result, mutant, caught: result.escape === null, seconds };
  } finally {
    copy.remove();
  }
};

/** Hunts all of them, and returns them in their order. */
export const huntAll = async (
  mutants: ReadonlyArray<Mutant>,
  options: HuntOptions,
): Promise<ReadonlyArray<Hunted>> => {
  const results: Array<Hunted> = [];
  const pristine = SourceCopy.create();
  const waiting = [...mutants.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [place, mutant] = next;
      const hunted = await hunt(mutant, options, pristine.folder);
      results[place] = hunted;
      options.onHunted?.(hunted);
    }
  };
  try {
    await Promise.all(Array.from({ length: options.jobs }, work));
    return results;
  } finally {
    pristine.remove();
  }
};
