// A deliberate bug: which text of which file is exchanged, and why the rule that it breaks is there. Each text must occur
// exactly once in today's sources, so a list of such bugs cannot rot unseen. Knows no disk.

import type { ScenarioName } from "../simulation/Scenarios.ts";

export interface Edit {
  /** Path from the root of the repository. */
  readonly file: string;
  readonly text: string;
  readonly replacement: string;
}

export interface Bug {
  readonly name: string;
  /** What goes wrong without the rule, in one sentence. */
  readonly why: string;
  /** Mostly one. More where a rule is kept in several places and each of them would do. */
  readonly edits: ReadonlyArray<Edit>;
}

/** A bug of the protocol, for the simulator to see. */
export interface Mutant extends Bug {
  /** The scenario that shows it best; null: all by their shares. */
  readonly scenario: ScenarioName | null;
  /** Seeds within which the simulator must find it. */
  readonly seeds: number;
}

const occurrences = (source: string, text: string): number => source.split(text).length - 1;

/** Edits whose text does not occur exactly once, as readable lines. */
export const problemsOf = (
  { name, edits }: Pick<Bug, "name" | "edits">,
  read: (file: string) => string | null,
): ReadonlyArray<string> =>
  edits.flatMap(({ file, text }) => {
    const source = read(file);
    if (source === null) return [`${name}: there is no ${file}`];
    const count = occurrences(source, text);
    return count === 1 ? [] : [`${name}: its text occurs ${count} times in ${file}`];
  });

/** Exchanges every text of a bug. Throws when one does not occur exactly once. */
export const apply = (
  bug: Pick<Bug, "name" | "edits">,
  read: (file: string) => string,
  write: (file: string, source: string) => void,
): void => {
  for (const { file, text, replacement } of bug.edits) {
    const [before, after, ...more] = read(file).split(text);
    if (before === undefined || after === undefined || more.length > 0)
      throw new RangeError(problemsOf(bug, read)[0]);
    write(file, before + replacement + after);
  }
};
