// A shell or a backup tool that holds the store of a running daemon locked.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import * as Process from "@social-harness/testkit/faults/Process";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

const lockHolder = fileURLToPath(new URL("../../src/storage/LockHolder.ts", import.meta.url));
const heldMs = 10_000;

verifies(
  ["RUN-112", "RUN-114"],
  "C48 a lock of ten seconds while messages arrive fails nothing, and the daemon answers meanwhile",
  async () => {
    const town = await Town.create();
    const ann = await town.settle("ann");
    const bob = await town.settle("bob");
    const send = (from: typeof ann, to: string, text: string) =>
      from.client.call("send_message", { input: { to, text }, idempotencyKey: text });
    await send(bob, "agent:ann", "before");
    await Town.eventually("it has come", async () => (await Town.inbox(ann)).length === 1);
    const [before] = await Town.inbox(ann);

    const holder = Process.start(lockHolder, [ann.database, `${heldMs}`], join(town.folder, "holder.stderr"));
    expect(await holder.ready).toEqual({ held: true });
    const texts = Array.from({ length: 5 }, (_, number) => `to ann ${number}`);
    const sent = texts.map((text) => send(bob, "agent:ann", text));
    const own = send(ann, "agent:bob", "to bob");
    const acknowledged = ann.client.call("acknowledge_delivery", { deliveryToken: before?.token });
    // Well before its end: what happens around that may be seen from either side.
    const lookedUntil = performance.now() + heldMs - 2_000;
    let looks = 0;
    for (;;) {
      const begun = performance.now();
      if (begun > lookedUntil) break;
      expect((await Town.inbox(ann)).map(({ text }) => text)[0]).toBe("before");
      expect(performance.now() - begun, "a read does not wait for the lock").toBeLessThan(5_000);
      looks++;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(looks).toBeGreaterThan(10);
    await Promise.all([...sent, own, acknowledged, holder.ended]);
    await Town.eventually("all has come", async () => (await Town.inbox(ann)).length === texts.length);
    expect((await Town.inbox(ann)).map(({ text }) => text).toSorted()).toEqual(texts);
    await Town.eventually("the own one too", async () => (await Town.inbox(bob)).length === 1);
    await Town.eventually("it is ready", async () => (await Town.readiness(ann)).status === 200);
    expect(Town.complaints(ann).map(({ event, reason }) => [event, reason])).toEqual([
      ["the store cannot be used", "locked"],
      ["the store works again", "locked"],
    ]);
    expect(town.ends).toEqual([]);
  },
  120_000,
);
