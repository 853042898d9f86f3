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

verifies("RUN-295", "whether the log can be used is known at any moment, in one word", () => {
  const trouble = makeLogTrouble({ clock: () => 0, say: () => {} });
  const fault = (errcode: number): Error => Object.assign(new Error("of SQLite"), { errcode });
  const words = [13, 8, 5, 10 | (3 << 8), 11, 26, 14].map((errcode) => {
    trouble.failed(new LogError("unavailable", "words", fault(errcode)));
    const word = trouble.standing();
    trouble.worked();
    expect(trouble.standing()).toBeNull();
    return word;
  });
  const expected = ["full", "read-only", "locked", "input-output", "damaged", "damaged", "unavailable"];
  expect(words).toEqual(expected);
  trouble.failed(fault(13));
  expect(trouble.standing()).toBe("full");
});

verifies("RUN-295", "what works beside a write ends no trouble of the write, and its own", () => {
  const said: Array<string> = [];
  let now = 0;
  const trouble = makeLogTrouble({ clock: () => now, say: (_level, event) => said.push(event) });
  const failure = new LogError("unavailable", "words");
  trouble.failed(failure, "beside");
  trouble.worked("beside");
  expect([trouble.standing(), said]).toEqual([null, ["log_unusable", "log_works_again"]]);
  now = 100_000;
  trouble.failed(failure, "beside");
  trouble.failed(failure);
  trouble.worked("beside");
  expect(trouble.standing()).toBe("unavailable");
  trouble.worked();
  expect(trouble.standing()).toBeNull();
});

verifies("RUN-294", "both lines say which log it is, and the first what helps", () => {
  const said: Array<object> = [];
  const trouble = makeLogTrouble({
    clock: () => 0,
    say: (_level, _event, fields) => said.push(fields),
    about: (error) => (error === null ? { file: "f" } : { file: "f", next: "n" }),
  });
  trouble.failed(new LogError("damaged", "words"));
  trouble.worked();
  expect(said).toEqual([
    { reason: "damaged", explanation: "words", file: "f", next: "n" },
    { seconds: 0, file: "f" },
  ]);
});
