// `verifies(clause, title, body)`: a vitest test that says which clause of docs/spec it proves.
// The requirements gate reads the clause ids from the sources, so ids must be literals.

import { test, type TestContext } from "vitest";

export type ClauseId = `${"FND" | "IDN" | "HIS" | "RTR" | "OPS" | "ING" | "MGT" | "RUN" | "HST"}-${number}`;

export const verifies = (
  clauses: ClauseId | ReadonlyArray<ClauseId>,
  title: string,
  body: (context: TestContext) => void | Promise<void>,
  timeoutMs?: number,
): void => {
  const ids = typeof clauses === "string" ? clauses : clauses.join(", ");
  test(`${ids}: ${title}`, body, timeoutMs);
};
