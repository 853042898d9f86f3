// What a conformance run found, judged against the file of expected failures: a check that fails without an excuse and an
// excuse without a failure are both faults. Pure, except that it reads the suite's own result files.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as Schema from "effect/Schema";

/** The suite writes more about each check; this is what is judged. */
const checksOf = Schema.decodeUnknownSync(
  Schema.Array(
    Schema.Struct({
      id: Schema.String,
      status: Schema.Literals(["SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO"]),
      errorMessage: Schema.optionalKey(Schema.String),
    }),
  ),
);

export interface Check {
  /** `<scenario>/<check>`; some checks are made several times in one scenario. */
  readonly key: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly words: string;
}

const outcomes = {
  SUCCESS: "passed",
  INFO: "passed",
  FAILURE: "failed",
  // A warning is a recommendation of the protocol that was not followed: it wants its reason like the rest.
  WARNING: "failed",
  SKIPPED: "skipped",
} as const;

/** Every check of a run, from the folder that the suite was told to write to. */
export const read = (folder: string): ReadonlyArray<Check> =>
  readdirSync(folder).flatMap((entry) => {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1];
    const file = join(folder, entry, "checks.json");
    if (scenario === undefined || !existsSync(file)) return [];
    return checksOf(JSON.parse(readFileSync(file, "utf8"))).map(({ id, status, errorMessage }) => ({
      key: `${scenario}/${id}`,
      outcome: outcomes[status],
      words: errorMessage ?? "",
    }));
  });

/** The file of expected failures. */
export const decodeExpectations = Schema.decodeUnknownSync(
  Schema.Struct({
    /** Scenarios that must have been run: whatever a later suite leaves out is noticed. */
    scenarios: Schema.Array(Schema.String),
    excuses: Schema.Array(
      Schema.Struct({
        reason: Schema.String,
        /** The one subject that has this excuse; all of them where it is left out. */
        only: Schema.optionalKey(Schema.String),
        checks: Schema.Array(Schema.String),
      }),
    ),
  }),
);
export type Expectations = ReturnType<typeof decodeExpectations>;

export interface Verdict {
  readonly passed: number;
  readonly excused: number;
  readonly skipped: number;
  readonly faults: ReadonlyArray<string>;
}

/** `subject`: what the checks were run at. */
export const judge = (
  subject: string,
  checks: ReadonlyArray<Check>,
  { scenarios, excuses }: Expectations,
): Verdict => {
  const own = excuses.filter(({ only }) => only === undefined || only === subject);
  const excusedKeys = new Set(own.flatMap(({ checks: keys }) => keys));
  const failed = checks.filter(({ outcome }) => outcome === "failed");
  const failedKeys = new Set(failed.map(({ key }) => key));
  const count = (outcome: Check["outcome"]): number =>
    checks.filter((check) => check.outcome === outcome).length;
  return {
    passed: count("passed"),
    skipped: count("skipped"),
    excused: failed.filter(({ key }) => excusedKeys.has(key)).length,
    faults: [
      ...failed
        .filter(({ key }) => !excusedKeys.has(key))
        .map(({ key, words }) => `${key} fails without an excuse: ${words}`),
      ...[...excusedKeys]
        .filter((key) => !failedKeys.has(key))
        .map((key) => `${key} is excused and does not fail: take its excuse out`),
      ...scenarios
        .filter((scenario) => !checks.some(({ key }) => key.startsWith(`${scenario}/`)))
        .map((scenario) => `${scenario} was not run`),
    ],
  };
};
