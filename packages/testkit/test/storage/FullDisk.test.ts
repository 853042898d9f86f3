// A disk that is really full, under a daemon that is really running: a tmpfs of its own.

import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import * as Process from "@social-harness/testkit/faults/Process";
import { binary } from "@social-harness/testkit/faults/Services";
import * as SmallDisk from "@social-harness/testkit/storage/SmallDisk";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

/** Two agents, one of them on a disk of twelve megabytes; or why there can be no such disk here. */
const annOnASmallDisk = async () => {
  const folder = Town.temporaryFolder();
  const disk = SmallDisk.mount(join(folder, "small"), 12);
  if ("why" in disk) return disk;
  onTestFinished(() => {
    Process.endAll();
    disk.unmount();
  });
  const town = await Town.create(folder);
  const ann = await town.settle("ann", { folder: disk.path });
  const bob = await town.settle("bob");
  return { disk, town, ann, bob };
};

verifies(
  ["RUN-110", "RUN-111", "RUN-112", "RUN-113"],
  "C49 a full disk in the middle of turns and acknowledgments loses nothing, is said once and is over when there is room",
  async ({ skip }) => {
    const settled = await annOnASmallDisk();
    if ("why" in settled) return skip(settled.why);
    const { disk, town, ann, bob } = settled;
    const say = (to: string, text: string, idempotencyKey: string) => ({
      input: { to, text },
      idempotencyKey,
    });
    await bob.client.call("send_message", say("agent:ann", "before", "b0"));
    await Town.eventually("it has come", async () => (await Town.inbox(ann)).length === 1);
    const [before] = await Town.inbox(ann);
    expect(before?.text).toBe("before");

    disk.fill();
    expect(await Town.reasonOf(ann.client.call("send_message", say("agent:bob", "no room", "a1")))).toBe(
      "persistence-failed",
    );
    expect(
      await Town.reasonOf(ann.client.call("acknowledge_delivery", { deliveryToken: before?.token })),
    ).toBe("persistence-failed");
    const waiting = Promise.all(
      ["one", "two", "three"].map((text) => bob.client.call("send_message", say("agent:ann", text, text))),
    );
    // Alive and not deaf: it reads, and it says what is the matter.
    expect((await Town.inbox(ann)).map(({ text }) => text)).toEqual(["before"]);
    const { status, standing } = await Town.readiness(ann);
    expect([status, standing.storeTrouble?.reason]).toEqual([503, "full"]);
    expect(standing.storeTrouble?.explanation).toContain("make room");

    disk.empty();
    await waiting;
    await Town.eventually("it is ready again", async () => (await Town.readiness(ann)).status === 200);
    await Town.eventually("all that waited has come", async () => (await Town.inbox(ann)).length === 4);
    expect((await Town.inbox(ann)).map(({ text }) => text)).toEqual(["before", "one", "two", "three"]);
    await ann.client.call("acknowledge_delivery", { deliveryToken: before?.token });
    await ann.client.call("send_message", say("agent:bob", "no room", "a1"));
    await Town.eventually("it is said once", async () => (await Town.inbox(bob)).length === 1);
    expect(town.ends).toEqual([]);
    const said = Town.complaints(ann).map(({ event, reason }) => [event, reason]);
    expect(said).toEqual([
      ["the store cannot be used", "full"],
      ["the store works again", "full"],
    ]);

    // Stopped and started without room: a clean end, and a refusal in one sentence.
    disk.fill();
    expect(await ann.resident.stop(20_000)).toBe(true);
    const args = ["daemon", "--state", ann.state, "--port", "0", "--json"];
    const refused = await Process.run(binary, args);
    expect(refused.code).toBe(1);
    const { error } = JSON.parse(refused.stderr) as { error: { reason: string; message: string } };
    expect([error.reason, error.message]).toEqual([
      "state-unavailable",
      expect.stringContaining("the disk is full"),
    ]);
    disk.empty();
    await ann.resident.start();
    expect((await Town.inbox(ann)).map(({ text }) => text)).toEqual(["one", "two", "three"]);
  },
  240_000,
);

verifies(
  "RUN-115",
  "C46 a folder on a read-only disk: no daemon starts, in one sentence, and its records can still be verified",
  async ({ skip }) => {
    const settled = await annOnASmallDisk();
    if ("why" in settled) return skip(settled.why);
    const { disk, ann, bob } = settled;
    await ann.client.call("send_message", { input: { to: "agent:bob", text: "kept" } });
    expect(await ann.resident.stop(20_000)).toBe(true);
    disk.takeWrites("refused");
    for (const more of [[], ["--replace"]]) {
      const args = ["daemon", "--state", ann.state, "--port", "0", "--json", ...more];
      const refused = await Process.run(binary, args);
      const { error } = JSON.parse(refused.stderr) as { error: { reason: string; message: string } };
      expect([refused.code, error.reason, error.message]).toEqual([
        1,
        "state-unavailable",
        expect.stringContaining("the disk is read-only"),
      ]);
    }
    const verified = await Process.run(binary, ["verify", "--full", "--state", ann.state, "--json"]);
    expect([verified.code, verified.stderr]).toEqual([0, ""]);
    disk.takeWrites("taken");
    await ann.resident.start();
    expect((await ann.client.call("search_conversations", {})).addresses).toEqual(["agent:bob"]);
    expect(bob.resident.life()).toBe(1);
  },
  120_000,
);
