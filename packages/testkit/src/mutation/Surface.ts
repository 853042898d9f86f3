// `npm run mutants -- --surface`: breaks one rule of the endpoint's surface after the other and asks whether the test that is
// named for it fails. Says what the test objected to; exits as the hunt of the protocol's bugs does.

import { problemsOf } from "./Mutant.ts";
import { readOriginal } from "./SourceCopy.ts";
import { huntSurface, type SurfaceHunted } from "./SurfaceHunt.ts";
import { surfaceMutants } from "./SurfaceMutants.ts";

export interface SurfaceOptions {
  /** Names; none means all of them. */
  readonly only: ReadonlyArray<string>;
  readonly jobs: number;
  readonly json: boolean;
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
}

const width = Math.max(...surfaceMutants.map(({ name }) => name.length));

const row = ({ mutant, sighting, escape, seconds }: SurfaceHunted): string => {
  const outcome = sighting === null ? `NOT CAUGHT: ${escape}` : sighting.message;
  return `${mutant.name.padEnd(width)} ${seconds.toFixed(1).padStart(6)} s  ${outcome}`;
};

/** Resolves with the exit code. */
export const surface = async ({ only, jobs, json, print, complain }: SurfaceOptions): Promise<number> => {
  const chosen =
    only.length === 0 ? surfaceMutants : surfaceMutants.filter(({ name }) => only.includes(name));
  if (chosen.length === 0) {
    complain("those are mutants of the protocol: leave --surface out");
    return 2;
  }
  const rotten = chosen.flatMap((mutant) => problemsOf(mutant, readOriginal));
  for (const problem of rotten) complain(problem);
  if (rotten.length > 0) return 1;
  const started = performance.now();
  if (!json) print(`${chosen.length} mutants of the surface, ${jobs} at once`);
  const hunted = await huntSurface(chosen, { jobs, onHunted: (one) => json || print(row(one)) });
  const seconds = (performance.now() - started) / 1_000;
  const escaped = hunted.filter(({ sighting }) => sighting === null);
  if (json) print(JSON.stringify({ seconds, mutants: hunted }));
  else print(`\n${hunted.length - escaped.length} of ${hunted.length} caught in ${seconds.toFixed(0)} s`);
  for (const { mutant } of escaped) if (!json) print(`not caught: ${mutant.name}. ${mutant.why}`);
  return escaped.length === 0 ? 0 : 1;
};
