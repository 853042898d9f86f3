// Bits that flip in what a killed daemon left beside its store: the write-ahead log, whose frames SQLite drops from the
// first wrong one on, so that the store is an older one.

import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import * as Process from "@social-harness/testkit/faults/Process";
import { binary } from "@social-harness/testkit/faults/Services";
import * as DiskOracle from "@social-harness/testkit/network/DiskOracle";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

const flip = (path: string, at: number): void => {
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(path, bytes);
};

verifies(
  ["RUN-122", "RUN-70"],
  "C51 a flipped bit in the write-ahead log makes the store an older one, which is found and recovered from",
  async () => {
    const town = await Town.create();
    const ann = await town.settle("ann");
    const bob = await town.settle("bob");
    const send = (text: string) =>
      bob.client.call("send_message", { input: { to: "agent:ann", text }, idempotencyKey: text });
    const texts = ["one", "two", "three", "four"];
    for (const text of texts) await send(text);
    await Town.eventually("all has come", async () => (await Town.inbox(ann)).length === texts.length);
    await ann.resident.kill();
    const wal = `${ann.database}-wal`;
    const kept = join(town.folder, "former.sqlite");
    copyFileSync(ann.database, kept);
    copyFileSync(wal, `${kept}-wal`);
    // In the last third: the registration is whole, some of what was said and signed is gone.
    flip(wal, Math.floor(statSync(wal).size * 0.75));
    await ann.resident.start();
    await send("after");
    texts.push("after");
    await Town.eventually("it holds everything again", async () => {
      const items = await Town.inbox(ann);
      return texts.every((text) => items.some((item) => item.text === text));
    });
    expect((await Town.inbox(ann)).map(({ text }) => text)).toEqual(texts);
    expect([await ann.resident.stop(20_000), await bob.resident.stop(20_000)]).toEqual([true, true]);
    const { problems } = DiskOracle.judge([ann.database, bob.database], { quiet: true, former: [kept] });
    expect(problems).toEqual([]);
  },
  180_000,
);

verifies(
  ["RUN-122", "RUN-54"],
  "C51 a torn page is refused at the start in one sentence, and every file stays as it was",
  async () => {
    const town = await Town.create();
    const ann = await town.settle("ann");
    expect(await ann.resident.stop(20_000)).toBe(true);
    const bytes = readFileSync(ann.database);
    // Half of a page is of another time.
    bytes.fill(0xff, 4_096 + 2_048, 8_192);
    writeFileSync(ann.database, bytes);
    const args = ["daemon", "--state", ann.state, "--port", "0", "--json"];
    const refused = await Process.run(binary, args);
    expect(refused.code).toBe(1);
    const { error } = JSON.parse(refused.stderr) as { error: { reason: string; next: string } };
    expect(error.reason).toBe("store-corrupt");
    expect(error.next).toContain("nothing has been changed or deleted");
    expect(readFileSync(ann.database).equals(bytes)).toBe(true);
  },
  120_000,
);
