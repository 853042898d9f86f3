// A store that cannot do its work, as a command tells it.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished } from "vitest";
import * as StoreFault from "@social-harness/endpoint/store/StoreFault";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, runHere } from "../Binary.ts";
import { joined, root, startDaemon } from "../Town.ts";

verifies(
  ["RUN-267", "RUN-02"],
  "a command whose post could not be kept says what is the matter with the store, and what helps",
  async () => {
    const [ada, bob] = ["ada", "bob"].map((name) => join(root, name)) as [string, string];
    for (const state of [ada, bob]) await joined(state, `${state.split("/").at(-1)}-agent`);
    const daemon = await startDaemon(ada);
    const other = new DatabaseSync(join(ada, "endpoint.sqlite"), { timeout: 30_000 });
    onTestFinished(() => other.close());
    other.exec("BEGIN IMMEDIATE");
    const refused = await runHere(["send", "agent:bob-agent", "hello", "--state", ada, "--json"]);
    const { what, next } = StoreFault.words("locked");
    expect(refused.code).toBe(1);
    expect(failureOf(refused)).toMatchObject({
      reason: "persistence-failed",
      message: what,
      next: expect.stringMatching(
        new RegExp(`^${next.charAt(0).toUpperCase()}${next.slice(1)}\\. Then repeat the command`),
      ),
    });
    other.exec("ROLLBACK");
    expect(await daemon.stop()).toBe(0);
  },
  120_000,
);
