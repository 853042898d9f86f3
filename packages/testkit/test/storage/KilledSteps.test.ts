// A daemon that ends as by SIGKILL right before each of its calls that change a file: in its start, and between a delivery
// that has arrived and its commit.

import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Process from "@social-harness/testkit/faults/Process";
import { binary } from "@social-harness/testkit/faults/Services";
import * as DiskOracle from "@social-harness/testkit/network/DiskOracle";
import * as FaultyDisk from "@social-harness/testkit/storage/FaultyDisk";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

/** More steps than a start has: the test ends with the first start that is not killed. */
const stepsMax = 400;
/** The first ones, which make the lock and the tokens, one by one; of the many that make the store, some. */
const closeSteps = 16;
const stride = (step: number): number => (step < closeSteps ? 1 : 17);

verifies(
  "RUN-120",
  "C54 first starts that are killed before one step after another, each on what the last one left, end with one that is ready",
  async ({ skip }) => {
    const folder = Town.temporaryFolder();
    const disk = FaultyDisk.prepare(folder);
    if ("why" in disk) return skip(disk.why);
    const state = StateFolder.open(join(folder, "ann"));
    Identity.create(state, (byteCount) => randomBytes(byteCount));
    const { description } = (await Town.create(folder)).network;
    Configuration.save(state, Configuration.resolve({ file: JSON.stringify(description) }));
    const args = ["daemon", "--state", state.path, "--port", "0", "--json"];
    const start = () => Process.start(binary, args, join(folder, "ann.stderr"), disk.environment(state.path));
    let steps = 0;
    let daemon = start();
    for (; steps < stepsMax; steps += stride(steps)) {
      disk.fail({ which: "changes", by: "SIGKILL", after: steps });
      if (steps > 0) daemon = start();
      if ((await daemon.ready) !== null) break;
      expect(await daemon.ended).toBe("SIGKILL");
    }
    expect(steps, "the start has steps, and an end").toBeGreaterThan(10);
    disk.heal();
    daemon.signal("SIGTERM");
    expect(await daemon.ended).toBe(0);
    // Nothing of the killed ones is in the way, nor lies about.
    expect(readdirSync(state.path).filter((name) => name.endsWith(".new"))).toEqual([]);
    const last = start();
    expect(await last.ready).toMatchObject({ pid: last.pid });
    last.signal("SIGTERM");
    expect(await last.ended).toBe(0);
  },
  300_000,
);

const kills = 8;

verifies(
  "RUN-126",
  "C52 an endpoint that is killed between a delivery and its commit gets it again, and no vote of it is out",
  async ({ skip }) => {
    const folder = Town.temporaryFolder();
    const disk = FaultyDisk.prepare(folder);
    if ("why" in disk) return skip(disk.why);
    const place = join(folder, "faulty");
    mkdirSync(place);
    const town = await Town.create(folder);
    const ann = await town.settle("ann", { folder: place, environment: disk.environment(place) });
    const bob = await town.settle("bob");
    const send = (text: string) =>
      bob.client.call("send_message", { input: { to: "agent:ann", text }, idempotencyKey: text });
    await send("first");
    const texts = ["first"];
    for (let after = 0; after < kills; after++) {
      const life = ann.resident.life();
      const text = `killed after ${after}`;
      texts.push(text);
      disk.fail({ which: "changes", by: "SIGKILL", after });
      const sent = send(text);
      await Town.eventually("it has ended", async () => town.ends.length === life);
      // A peer is never told more than what is on the disk: what it holds now is judged below against what is left here.
      disk.heal();
      await ann.resident.kill();
      await ann.resident.start();
      await sent;
      await Town.eventually("it has come", async () => (await Town.inbox(ann)).length === texts.length);
    }
    expect((await Town.inbox(ann)).map(({ text }) => text)).toEqual(texts);
    expect(new Set(town.ends)).toEqual(new Set(["ann ended by itself with SIGKILL"]));
    expect([await ann.resident.stop(20_000), await bob.resident.stop(20_000)]).toEqual([true, true]);
    const { problems, records } = DiskOracle.judge([ann.database, bob.database], { quiet: true });
    expect([problems, records]).toEqual([[], 2 * texts.length]);
  },
  300_000,
);
