// A network whose logs cannot be used: which one, where it stands, and what helps with that one.

import { openSync, writeSync, closeSync, statSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { LogError } from "@social-harness/log/LogError";
import { verifies } from "@social-harness/testkit/Verifies";
import * as LogCare from "../../src/network/LogCare.ts";
import * as NetworkFiles from "../../src/network/NetworkFiles.ts";
import { failureOf, runHere, serve, temporaryFolder } from "../Binary.ts";

const overwrite = (path: string, from: number, bytes: number): void => {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, from);
  closeSync(file);
};

/** Folds what is in the write-ahead log into the file, so that the file is all there is. */
const settle = (path: string): void => {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
};

verifies(
  "RUN-294",
  "a start on a damaged log names the service and the file, and the cure of that one",
  async () => {
    const data = join(temporaryFolder(), "net");
    const start = ["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"];
    expect(await (await serve(start)).stop()).toBe(0);
    const cures = [
      ["router", "Router", /remove router\.sqlite,.*Restore no old copy/],
      ["registry", "Registry", /restore registry\.sqlite from your backup/],
    ] as const;
    for (const [service, name, cure] of cures) {
      const path = join(data, `${service}.sqlite`);
      settle(path);
      const sound = readFileSync(path);
      // Its head, so that it is no database, and everything behind it, so that one is found when it is read.
      for (const [from, bytes] of [
        [0, 64],
        [4_096, sound.length - 4_096],
      ] as const) {
        overwrite(path, from, bytes);
        const commands =
          service === "router" ? [start] : [start, ["network", "invite", "list", "--data", data, "--json"]];
        for (const command of commands) {
          const ended = await runHere(command);
          const failure = failureOf(ended);
          expect([ended.code, failure.reason]).toEqual([1, "log-damaged"]);
          expect(failure.message).toContain(`the ${name}'s log ${path} cannot be used`);
          expect(failure.next).toMatch(cure);
        }
        const file = openSync(path, "r+");
        writeSync(file, sound, 0, sound.length, 0);
        closeSync(file);
        expect(statSync(path).size).toBe(sound.length);
      }
    }
    expect(await (await serve(start)).stop()).toBe(0);
  },
  60_000,
);

verifies("RUN-294", "every trouble of a log has words that help, and says where", () => {
  const folder = NetworkFiles.at("/net");
  const unusable = (errcode: number) =>
    new LogError("unavailable", "words", Object.assign(new Error("of SQLite"), { errcode }));
  for (const [errcode, words] of [
    [13, /Make room/],
    [8, /writable/],
    [5, /End the program/],
    [10, /system's log/],
    [14, /permissions/],
  ] as const) {
    for (const service of ["Registry", "Router"] as const) {
      const file = `/net/${service.toLowerCase()}.sqlite`;
      const running = LogCare.about(folder, service)(unusable(errcode));
      expect(running).toEqual({ service, file, next: expect.stringMatching(words) });
      expect(running["next"]).toMatch(/goes on by itself/);
      const failure = LogCare.failureOf(folder, service, unusable(errcode));
      expect(failure?.message).toContain(file);
      expect(failure?.next).toMatch(/start it again/);
      expect(LogCare.about(folder, service)(null)).toEqual({ service, file });
    }
  }
  expect(LogCare.failureOf(folder, "Router", new Error("another"))).toBeNull();
});
