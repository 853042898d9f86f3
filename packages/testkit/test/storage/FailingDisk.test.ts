// A disk that fails on command under a running daemon: errors of reading, writing and syncing, and a disk that has become
// read-only.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { Endpoint } from "@social-harness/testkit/faults/Endpoint";
import * as FaultyDisk from "@social-harness/testkit/storage/FaultyDisk";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

/** Ann on a disk that fails when told to, Bob on a sound one. */
const setUp = async (folder: string, disk: FaultyDisk.FaultyDisk) => {
  const place = join(folder, "faulty");
  mkdirSync(place);
  const town = await Town.create(folder);
  const ann = await town.settle("ann", { folder: place, environment: disk.environment(place) });
  const bob = await town.settle("bob");
  const send = (from: Endpoint, to: string, text: string) =>
    from.client.call("send_message", { input: { to, text }, idempotencyKey: text.slice(0, 8) });
  await send(bob, "agent:ann", "before");
  await Town.eventually("it has come", async () => (await Town.inbox(ann)).length === 1);
  return { town, ann, bob, send };
};

describe.each([
  ["C46 a folder that becomes read-only", { which: "changes", by: "EROFS" }],
  ["a disk that fails every write", { which: "writes", by: "EIO" }],
  ["a disk that fails to sync", { which: "syncs", by: "EIO" }],
  ["C49 a disk that is full in the middle of a turn", { which: "writes", by: "ENOSPC", after: 1 }],
] as const)("%s", (_name, fault) => {
  verifies(
    ["RUN-110", "RUN-111", "RUN-112", "RUN-115"],
    "answers reads, refuses writes, loses nothing, and is over when it is over",
    async ({ skip }) => {
      const folder = Town.temporaryFolder();
      const disk = FaultyDisk.prepare(folder);
      if ("why" in disk) return skip(disk.why);
      const { town, ann, bob, send } = await setUp(folder, disk);
      const [before] = await Town.inbox(ann);
      disk.fail(fault);
      const acknowledged = () =>
        Town.reasonOf(ann.client.call("acknowledge_delivery", { deliveryToken: before?.token }));
      expect(await acknowledged()).toBe("persistence-failed");
      expect(await Town.reasonOf(send(ann, "agent:bob", "to bob"))).toBe("persistence-failed");
      const waiting = send(bob, "agent:ann", "to ann");
      expect((await Town.inbox(ann)).map(({ text }) => text)).toEqual(["before"]);
      expect((await ann.client.call("search_conversations", {})).addresses).toEqual(["agent:bob"]);
      expect((await Town.readiness(ann)).status).toBe(503);

      disk.heal();
      await waiting;
      await Town.eventually("it has come", async () => (await Town.inbox(ann)).length === 2);
      expect((await Town.inbox(ann)).map(({ text }) => text)).toEqual(["before", "to ann"]);
      expect(await acknowledged()).toBe("taken");
      await send(ann, "agent:bob", "to bob");
      await Town.eventually("it came once", async () => (await Town.inbox(bob)).length === 1);
      await Town.eventually("it is ready", async () => (await Town.readiness(ann)).status === 200);
      await Town.eventually("both are said", async () => Town.complaints(ann).length > 1);
      expect(Town.complaints(ann).map(({ event }) => event)).toEqual([
        "the store cannot be used",
        "the store works again",
      ]);

      disk.fail(fault);
      expect(await ann.resident.stop(20_000), "a clean end").toBe(true);
      disk.heal();
      await ann.resident.start();
      expect((await Town.inbox(ann)).map(({ text }) => text)).toEqual(["to ann"]);
      expect(town.ends).toEqual([]);
    },
    240_000,
  );
});

verifies(
  ["RUN-110", "RUN-111"],
  "a disk that fails to read costs the calls that read, and nothing else",
  async ({ skip }) => {
    const folder = Town.temporaryFolder();
    const disk = FaultyDisk.prepare(folder);
    if ("why" in disk) return skip(disk.why);
    const { town, ann, bob, send } = await setUp(folder, disk);
    // A store that is larger than what SQLite keeps of it in memory, so that reads reach the disk.
    for (let number = 0; number < 60; number++)
      await send(bob, "agent:ann", `${number} ${"x".repeat(200_000)}`.slice(0, 200_000));
    disk.fail({ which: "reads", by: "EIO" });
    const answers = await Promise.all(
      Array.from({ length: 4 }, () =>
        Town.reasonOf(ann.client.call("read_conversation", { address: "agent:bob" })),
      ),
    );
    expect(new Set(answers)).toEqual(new Set(["persistence-failed"]));
    disk.heal();
    await Town.eventually("it is ready", async () => (await Town.readiness(ann)).status === 200);
    const page = await ann.client.call("read_conversation", { address: "agent:bob" });
    expect(page.records.length).toBeGreaterThan(0);
    expect(town.ends).toEqual([]);
  },
  240_000,
);
