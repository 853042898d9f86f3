// What is thrown below the command line, as its failure.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { ConfigurationError } from "@social-harness/endpoint/state/Configuration";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Reason } from "@social-harness/endpoint/operations/OperationError";
import { StateError, type StateReason } from "@social-harness/endpoint/state/StateError";
import { StoreError, type StoreReason } from "@social-harness/endpoint/store/StoreError";
import * as StoreFault from "@social-harness/endpoint/store/StoreFault";
import type * as Trouble from "@social-harness/endpoint/transport/Trouble";
import { LogError, type LogErrorReason } from "@social-harness/log/LogError";
import { ofReason, ofTrouble } from "../src/daemon/Explain.ts";
import { failed, ofUnknown, type Failure } from "../src/Failure.ts";

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

verifies("RUN-352", "a limit of open files is no defect, and is told with what raises it", () => {
  for (const code of ["EMFILE", "ENFILE"]) {
    const { reason, message, next } = ofUnknown(Object.assign(new Error(`listen ${code}`), { code }));
    expect([reason, next]).toEqual(["too-many-files", expect.stringContaining("ulimit -n")]);
    expect(message).toContain(code);
  }
});

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

/** Every member of a closed union: one more or one less does not compile. */
const all = <Member extends string>(members: Readonly<Record<Member, true>>): ReadonlyArray<Member> =>
  Object.keys(members) as unknown as ReadonlyArray<Member>;

const stateReasons = all<StateReason>({
  permissions: true,
  missing: true,
  exists: true,
  malformed: true,
  "other-version": true,
  "not-allowed": true,
  held: true,
  unavailable: true,
});
const storeReasons = all<StoreReason>({
  "newer-schema": true,
  "older-schema": true,
  "unknown-schema": true,
  corrupt: true,
  unavailable: true,
});
const logReasons = all<LogErrorReason>({
  closed: true,
  unavailable: true,
  gone: true,
  damaged: true,
  newer: true,
  invalid: true,
  unsupported: true,
});
const toolReasons = all<Reason>({
  "dependency-unavailable": true,
  "persistence-failed": true,
  "incompatible-daemon": true,
  "not-registered": true,
  "invalid-address": true,
  "unknown-agent": true,
  "membership-invalid": true,
  "content-invalid": true,
  "version-mismatch": true,
  "idempotency-conflict": true,
  "outcome-unknown": true,
  refused: true,
  withdrawn: true,
  "invalid-continuation": true,
  "history-gap": true,
  "unknown-delivery": true,
  "delivery-conflict": true,
  "unknown-event": true,
  "unknown-hold": true,
});
const troubles = all<Trouble.TroubleKind>({
  "untrusted-certificate": true,
  "unfit-certificate": true,
  "wrong-key": true,
  unbelievable: true,
  unreachable: true,
  "other-service": true,
  "unknown-host": true,
});

const hasThreeParts = ({ reason, message, next }: Failure): boolean =>
  reason !== "" && message !== "" && /^[A-Z`].*\.$/s.test(next) && !message.includes(next);

verifies(
  ["RUN-02", "RUN-268"],
  "each failure of a closed union has its reason, what happened and the next step, apart from each other",
  () => {
    const failures = [
      ...stateReasons.map((reason) => ofUnknown(new StateError(reason, "it is so", "do this"))),
      ...storeReasons.map((reason) => ofUnknown(new StoreError(reason, "it is so", "do this"))),
      ...logReasons.map((reason) => ofUnknown(new LogError(reason, "it is so"))),
      ...toolReasons.map((reason) => ofReason(reason)),
      ...troubles.map((kind) => ofTrouble({ kind, detail: "so" })),
      ofUnknown(new Error("nobody foresaw it")),
    ];
    expect(failures.filter((failure) => !hasThreeParts(failure))).toEqual([]);
    // The log and whoever else has one line gets both parts in it.
    expect(new StateError("held", "it is so", "do this").message).toBe("it is so: do this");
    for (const fault of ["full", "read-only", "locked", "damaged", "input-output", "unavailable"] as const) {
      const { what, next } = StoreFault.words(fault);
      expect(StoreFault.explain(fault)).toBe(`${what}: ${next}`);
    }
  },
);

const sources = fileURLToPath(new URL("../src", import.meta.url));

verifies("RUN-268", "no failure of the command line is written without a next step", () => {
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const bare = files.filter((file) =>
    /\b(failed|unreachable|misused)\([^;]*?[^/\s],\s*""\s*[,)]/.test(
      readFileSync(join(sources, file), "utf8"),
    ),
  );
  expect(bare).toEqual([]);
});
