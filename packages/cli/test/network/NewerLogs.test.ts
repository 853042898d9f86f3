// A network's folder that a later program has served: this one says so and touches neither log.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, runHere, serve, temporaryFolder } from "../Binary.ts";

verifies(
  "RUN-174",
  "a network whose log a later program wrote is not served, and its log is untouched",
  async () => {
    const data = join(temporaryFolder(), "net");
    const start = ["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"];
    expect(await (await serve(start)).stop()).toBe(0);
    for (const service of ["router", "registry"]) {
      const path = join(data, `${service}.sqlite`);
      const database = new DatabaseSync(path);
      database.exec(`INSERT OR REPLACE INTO log_component (name, version) VALUES ('${service}', 2)`);
      database.close();
      const before = readFileSync(path);
      const commands =
        service === "router" ? [start] : [start, ["network", "invite", "list", "--data", data, "--json"]];
      for (const command of commands) {
        const ended = await runHere(command);
        expect(ended.code).toBe(1);
        expect(failureOf(ended)).toMatchObject({
          reason: "log-newer",
          next: "Run the installation that wrote it, or update this one.",
        });
      }
      expect(readFileSync(path)).toEqual(before);
    }
  },
);
