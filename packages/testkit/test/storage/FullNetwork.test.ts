// The disk of a Registry and a Router that is really full, under agents whose own disks are sound.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import * as Process from "@social-harness/testkit/faults/Process";
import * as SmallDisk from "@social-harness/testkit/storage/SmallDisk";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

verifies(
  "RUN-117",
  "C49 a network whose disk is full accepts nothing, says so once, and goes on when there is room",
  async ({ skip }) => {
    const folder = Town.temporaryFolder();
    const disk = SmallDisk.mount(join(folder, "network"), 8);
    if ("why" in disk) return skip(disk.why);
    onTestFinished(() => {
      Process.endAll();
      disk.unmount();
    });
    const town = await Town.create(folder);
    const ann = await town.settle("ann");
    const bob = await town.settle("bob");
    const send = (text: string) =>
      bob.client.call("send_message", { input: { to: "agent:ann", text }, idempotencyKey: text.slice(0, 8) });
    const said = (): ReadonlyArray<string> => {
      const log = join(folder, "network.stderr");
      const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
      return lines.map((line) => (JSON.parse(line) as { event: string }).event);
    };
    await send("before");
    disk.fill();
    // Large enough for no free page of the Router's file.
    const sent = Promise.all(["one", "two"].map((text) => send(`${text} ${"x".repeat(100_000)}`)));
    await Town.eventually("it is said", async () => said().length === 1);
    expect(await Town.inbox(ann)).toHaveLength(1);
    expect((await fetch(new URL("/healthz", town.network.description.registryUrl))).status).toBe(200);
    disk.empty();
    await sent;
    await Town.eventually("all has come", async () => (await Town.inbox(ann)).length === 3);
    expect((await Town.inbox(ann)).map(({ text }) => text.split(" ")[0])).toEqual(["before", "one", "two"]);
    await town.settle("fay");
    await send("after");
    expect(said()).toEqual(["log_unusable", "log_works_again"]);
    expect(town.ends).toEqual([]);
  },
  180_000,
);
