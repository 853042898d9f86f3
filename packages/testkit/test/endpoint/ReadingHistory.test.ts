// Reading history through a whole endpoint with the official client: a restart in the middle of a read, and that nothing an
// owner can look at changes anything of what is looked at.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { registration, startNewcomer } from "./Newcomer.ts";

const posts = 60;

/** Every row of every table, as another process would see it. */
const dumpOf = (path: string): Readonly<Record<string, string>> => {
  const sqlite = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = sqlite.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
    const dump = tables.map(({ name }) => [
      String(name),
      JSON.stringify(sqlite.prepare(`SELECT * FROM "${String(name)}"`).all()),
    ]);
    return Object.fromEntries(dump) as Readonly<Record<string, string>>;
  } finally {
    sqlite.close();
  }
};

verifies(
  ["MGT-40", "MGT-44", "MGT-50", "MGT-100"],
  "reads change nothing, freeze what they began with, and end with the daemon that began them",
  async () => {
    const network = await testNetwork();
    const ada = await startNewcomer(network.folder, "ada", network, network.registryUrl);
    await ada.call("register", registration("ada-agent"));
    const bob = await network.open("bob-agent");
    await bob.send("agent:ada-agent", "hello");
    await Promise.all(Array.from({ length: posts - 1 }, (_, i) => bob.send("agent:ada-agent", `post ${i}`)));
    const address = "agent:bob-agent";
    const page = (input: object) =>
      ada.call("read_conversation", input) as Promise<{
        readonly records: ReadonlyArray<{ readonly recordHash: string }>;
        readonly continuation: string | null;
      }>;
    const heard = async (): Promise<number> => (await page({ address })).records.length;
    let count = 0;
    await until("ada has what bob sent", () => {
      void heard().then((length) => (count = length));
      return count === 50;
    });
    const store = StateFolder.at(join(network.folder, "ada")).database;
    let before = dumpOf(store);
    await until("nothing is under way", () => {
      const now = dumpOf(store);
      const isStill = JSON.stringify(now) === JSON.stringify(before) && now["outbox"] === "[]";
      before = now;
      return isStill && JSON.parse(now["record"] ?? "[]").length === posts;
    });

    const first = await page({ address });
    for (const tool of ["status", "search_conversations", "read_inbox"]) await ada.call(tool);
    await ada.call("search_agents", { agentName: "bob-agent" });
    await ada.call("search_agents", { prefix: "bob" });
    await ada.call("search_conversations", { afterAddress: address });
    const second = await page({ continuation: first.continuation });
    expect([first.records.length, second.records.length, second.continuation]).toEqual([50, 10, null]);
    const spent = await page({ continuation: first.continuation }).catch(
      (error: { data?: unknown }) => error.data,
    );
    expect(spent).toEqual({ reason: "invalid-continuation" });
    expect(dumpOf(store)).toEqual(before);

    const again = await page({ address });
    await ada.restart();
    const lost = await page({ continuation: again.continuation }).catch(
      (error: { data?: unknown }) => error.data,
    );
    expect(lost).toEqual({ reason: "invalid-continuation" });
    expect(await page({ address, afterRecordHash: first.records.at(-1)?.recordHash })).toEqual(second);
  },
);
