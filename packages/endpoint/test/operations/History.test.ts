import { expect } from "vitest";
import { RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";
import { createContinuations } from "../../src/operations/Continuations.ts";
import { readConversation, type Snapshot } from "../../src/operations/History.ts";
import { OperationError } from "../../src/operations/OperationError.ts";
import type { ReadConversationInput, ReadConversationResult } from "../../src/operations/Operations.ts";
import { verifyRecords } from "../../src/store/VerifyRecords.ts";

let drawn = 0;
const random = (byteCount: number): Buffer => Buffer.alloc(byteCount, String(++drawn));

interface Reader {
  readonly read: (input: ReadConversationInput) => Promise<ReadConversationResult>;
  readonly reason: (input: ReadConversationInput) => Promise<string>;
  now: number;
}

const readerOf = (network: TestNetwork, { db, name }: NetworkAgent): Reader => {
  const { registryUrl, registryKey, trust } = network;
  const registry = makeRegistryClient({ url: registryUrl, registryKey });
  const continuations = createContinuations<Snapshot>(random, () => reader.now);
  const reader: Reader = {
    now: 0,
    read: (input) => readConversation({ db, self: name, trust, registry, continuations }, input),
    reason: async (input) => {
      try {
        await reader.read(input);
        return "no failure";
      } catch (error) {
        if (error instanceof OperationError) return error.reason;
        throw error;
      }
    },
  };
  return reader;
};

const someHash = RecordHash.fromBytes(Buffer.alloc(32, 3));

verifies(
  ["MGT-40", "MGT-41", "MGT-42", "MGT-43", "MGT-44", "MGT-46"],
  "a read is a snapshot of its first moment, in pages of at most 50 verified records, each continuation good once",
  async () => {
    const network = await testNetwork();
    const [ann] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "genesis");
    await Promise.all(Array.from({ length: 109 }, (_, i) => ann.send("agent:bob", `${i}`)));
    const reader = readerOf(network, ann);
    const first = await reader.read({ address: "agent:bob" });
    await ann.send("agent:bob", "later");
    const second = await reader.read({ continuation: first.continuation as string });
    expect(await reader.reason({ continuation: first.continuation as string })).toBe("invalid-continuation");
    const third = await reader.read({ continuation: second.continuation as string });
    expect([first, second, third].map(({ records }) => records.length)).toEqual([50, 50, 10]);
    expect(third.continuation).toBeNull();
    const records = [first, second, third].flatMap((page) => page.records);
    expect(records.map(({ recordCore }) => recordCore.action.height)).toEqual(records.map((_, i) => i));
    const trust = { verifier: Ed25519.verifier, registryKey: network.registryKey };
    await expect(verifyRecords(trust, null, records, VerifiedChain.ancestryOf([]))).resolves.toMatchObject({
      height: 109,
    });
    expect(await ann.history("agent:bob", records[109]?.recordHash)).toHaveLength(1);
    expect(await ann.history("agent:bob", records[59]?.recordHash)).toHaveLength(51);
    const whole = await ann.history("agent:bob");
    expect(await ann.history("agent:bob", whole.at(-1)?.recordHash)).toEqual([]);
    expect(first.continuation).toMatch(/^[A-Za-z0-9_-]{43}$/);
  },
);

verifies("MGT-42", "C75: a page stops before 2 MiB, and holds one record at least", async () => {
  const network = await testNetwork();
  const [ann] = await network.openAll(["ann", "bob"]);
  for (let i = 0; i < 9; i++) await ann.send("agent:bob", "x".repeat(262_117));
  const reader = readerOf(network, ann);
  const first = await reader.read({ address: "agent:bob" });
  expect(first.records).toHaveLength(7);
  expect(Buffer.byteLength(JSON.stringify(first))).toBeLessThan(2_097_152);
  const second = await reader.read({ continuation: first.continuation as string });
  expect(second.records).toHaveLength(2);
  expect(second.continuation).toBeNull();
});

verifies("MGT-44", "a continuation that is none here is never a new snapshot", async () => {
  const network = await testNetwork();
  const [ann] = await network.openAll(["ann", "bob"]);
  await ann.send("agent:bob", "genesis");
  await Promise.all(Array.from({ length: 50 }, (_, i) => ann.send("agent:bob", `${i}`)));
  const minted = (await readerOf(network, ann).read({ address: "agent:bob" })).continuation as string;
  const other = readerOf(network, ann);
  for (const continuation of [minted, "", "x", `${minted}=`, minted.slice(1), "agent:bob"]) {
    expect(await other.reason({ continuation })).toBe("invalid-continuation");
  }
});

verifies(
  ["MGT-47", "MGT-48", "MGT-120"],
  "what is not here is told apart: no address, no agent, no history",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob", "cyd"]);
    await ann.send("agent:bob", "genesis");
    await bob.send("agent:cyd", "another chain");
    const reader = readerOf(network, ann);
    for (const address of [
      "",
      "bob",
      "agent:ann",
      "group:bob,ann,cyd",
      "group:bob,cyd,dan",
      "group:ann,bob",
    ]) {
      expect([address, await reader.reason({ address })]).toEqual([address, "invalid-address"]);
    }
    expect(await reader.reason({ address: "agent:nobody" })).toBe("unknown-agent");
    expect(await reader.reason({ address: "group:ann,bob,nobody" })).toBe("unknown-agent");
    expect(await reader.reason({ address: "agent:cyd" })).toBe("history-gap");
    expect(await reader.reason({ address: "group:ann,bob,cyd" })).toBe("history-gap");
    expect(await reader.reason({ address: "agent:bob", afterRecordHash: someHash })).toBe("history-gap");
    const [foreign] = await bob.history("agent:cyd");
    expect(
      await reader.reason({ address: "agent:bob", afterRecordHash: foreign?.recordHash ?? someHash }),
    ).toBe("history-gap");
    await network.registry.stop();
    expect(await reader.reason({ address: "agent:nobody-else" })).toBe("history-gap");
    expect((await reader.read({ address: "agent:bob" })).records).toHaveLength(1);
  },
);

verifies("MGT-50", "a read creates no delivery and leaves the inbox as it was", async () => {
  const network = await testNetwork();
  const [ann, bob] = await network.openAll(["ann", "bob"]);
  await ann.send("agent:bob", "one");
  const before = await bob.untilItems(1);
  await bob.history("agent:ann");
  expect(bob.items()).toEqual(before);
});

verifies(
  "ING-191",
  "an owner's history shows what is queued or held, and reading it admits nothing",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    for (const text of ["held", "queued", "admitted"]) await ann.send("agent:bob", text);
    await bob.untilItems(3);
    // As a firewall leaves them.
    bob.db.transaction(() => {
      const copied = "conversation_id, record_hash, item, admitted_at";
      bob.db.run(
        `INSERT INTO firewall_hold (conversation_id, record_hash, item, queued_at, hold_id, reason, held_at)
       SELECT ${copied}, 'hld', 'rule', admitted_at FROM inbox WHERE item LIKE '%"held"%'`,
      );
      bob.db.run(
        `INSERT INTO firewall_queue (conversation_id, record_hash, item, queued_at)
       SELECT ${copied} FROM inbox WHERE item LIKE '%"queued"%'`,
      );
      expect(bob.db.run("DELETE FROM inbox WHERE item NOT LIKE '%\"admitted\"%'")).toBe(2);
    });
    const standing = (): string =>
      JSON.stringify(
        ["inbox", "firewall_queue", "firewall_hold"].map((name) => bob.db.all(`SELECT * FROM ${name}`)),
      );
    const before = standing();
    const { records } = await readerOf(network, bob).read({ address: "agent:ann" });
    expect(records.map(({ recordCore }) => recordCore.action.postIntent.content)).toEqual(
      ["held", "queued", "admitted"].map((text) => [{ type: "text", text }]),
    );
    expect(standing()).toBe(before);
    expect(bob.texts()).toEqual(["admitted"]);
  },
);
