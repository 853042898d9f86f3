import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { LogError } from "../src/LogError.ts";
import { makeLogTrouble } from "../src/LogTrouble.ts";

verifies("RUN-117", "a trouble of a log is said once when it begins and once when it is over", () => {
  let now = 0;
  const said: Array<readonly [event: string, fields: object]> = [];
  const trouble = makeLogTrouble({
    clock: () => now,
    say: (_level, event, fields) => said.push([event, fields]),
  });
  const full = new LogError("unavailable", "its disk is full; make room");
  trouble.worked();
  for (let round = 0; round < 5; round++) trouble.failed(full);
  now = 4_000;
  trouble.worked();
  trouble.worked();
  expect(said).toEqual([
    ["log_unusable", { reason: "unavailable", explanation: expect.stringContaining("make room") }],
    ["log_works_again", { seconds: 4 }],
  ]);
  // Again and again within a minute: still the same.
  for (let round = 0; round < 5; round++) {
    trouble.failed(full);
    trouble.worked();
  }
  expect(said).toHaveLength(2);
  now = 100_000;
  trouble.failed(new LogError("closed", "the log is closed"));
  trouble.failed(new RangeError("something else"));
  expect(said.at(-1)?.[1]).toMatchObject({ reason: "unknown" });
});
