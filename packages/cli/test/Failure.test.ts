// What is thrown below the command line, as its failure.

import { expect } from "vitest";
import { ConfigurationError } from "@social-harness/endpoint/state/Configuration";
import { verifies } from "@social-harness/testkit/Verifies";
import { failed, ofUnknown } from "../src/Failure.ts";

verifies(
  ["RUN-02", "RUN-91"],
  "a configuration that is off is wrong usage where only flags are, and says what to do",
  () => {
    const of = (...paths: ReadonlyArray<string>) =>
      ofUnknown(new ConfigurationError(paths.map((path) => ({ path, message: "expected another one" }))));
    const flags = of("--port", "--contacts.1");
    expect([flags.exitCode, flags.message]).toEqual([
      2,
      "--port: expected another one\n--contacts.1: expected another one",
    ]);
    expect(flags.next).toContain("`social-harness daemon --help`");
    const file = of("--port", "config.json: port");
    expect([file.exitCode, file.next]).toEqual([
      1,
      expect.stringContaining("config.json stands in the state folder"),
    ]);
  },
);

verifies(
  "RUN-293",
  "the next step after a setting that is off speaks of the place where it stands, and of no other",
  () => {
    const next = (...paths: ReadonlyArray<string>) =>
      ofUnknown(new ConfigurationError(paths.map((path) => ({ path, message: "expected another one" }))))
        .next;
    const variable = next("SOCIAL_HARNESS_PRT");
    expect(variable).toContain("in the environment");
    expect(variable).not.toContain("config.json");
    expect(next("config.json: port")).not.toContain("environment");
    expect(next("SOCIAL_HARNESS_PRT", "config.json: port")).toMatch(/environment.*config\.json/);
  },
);

verifies("RUN-02", "a failure in other words keeps what is not said anew, its code and its cause", () => {
  const failure = failed("refused", "it was refused", "Ask.", new Error("cause"));
  const other = failure.with({ next: "Ask again.", details: { postId: "pst_" } });
  expect(other).toMatchObject({
    exitCode: 1,
    reason: "refused",
    message: "it was refused",
    next: "Ask again.",
  });
  expect([other.details, other.cause]).toEqual([{ postId: "pst_" }, failure]);
  expect(ofUnknown(other)).toBe(other);
});
