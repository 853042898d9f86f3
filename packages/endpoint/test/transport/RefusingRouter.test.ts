// A Router that is connected and whose log takes nothing: another process holds its file for longer than it waits.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";

verifies(
  "RUN-276",
  "an endpoint says once that its Router takes nothing, and once that it does again, and loses no post",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "before");
    const said = () =>
      ann.lines.filter(({ event }) => event.startsWith("the Router takes")).map(({ level }) => level);
    const holder = new DatabaseSync(join(network.folder, "router.sqlite"));
    holder.exec("BEGIN IMMEDIATE");
    const sends = ["one", "two", "three"].map((text) => ann.send("agent:bob", text));
    await until("it refuses", () => ann.agent.router().refusingSince !== null, 90_000);
    expect(ann.agent.router()).toMatchObject({ connected: true, trouble: null });
    expect(said()).toEqual(["warn"]);
    holder.exec("ROLLBACK");
    holder.close();
    for (const { status } of await Promise.all(sends)) expect(status).toBe("certified");
    expect(ann.agent.router().refusingSince).toBeNull();
    expect(said()).toEqual(["warn", "info"]);
    await until("all has come", () => bob.texts().length === 4);
  },
  180_000,
);
