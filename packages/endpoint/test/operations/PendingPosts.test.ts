// What an owner is told of posts that have not ended, and of conversations that have yet to recover.

import { expect } from "vitest";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import * as ContactPolicy from "../../src/conversations/ContactPolicy.ts";
import * as LostMemory from "../../src/conversations/LostMemory.ts";
import * as Firewall from "../../src/firewall/Firewall.ts";
import * as Health from "../../src/operations/Health.ts";
import * as Owner from "../../src/operations/Owner.ts";
import type { Database } from "../../src/store/Database.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

const healthOf = ({ db, agent }: NetworkAgent): Health.Health =>
  Health.read({
    db,
    agent,
    contactPolicy: ContactPolicy.open,
    network: { registryUrl: "https://registry.example", routerUrl: "wss://router.example" },
    firewall: Firewall.none,
    webhook: { kind: "none" },
    storeTrouble: null,
    now: Date.now(),
  });

verifies(
  ["MGT-180", "MGT-185"],
  "of a post to a group with two away it is known who has not signed, and that these two cannot end it",
  async () => {
    const network = await testNetwork();
    const members = ["ann", "bob", "cyd", "dan"] as const;
    const [ann, , cyd, dan] = await network.openAll(members);
    const address = `group:${members.join()}`;
    await ann.send(address, "hello");
    await Promise.all([cyd.untilItems(1), dan.untilItems(1)]);
    await Promise.all([cyd.close(), dan.close()]);
    const { postId } = await ann.send(address, "on second thoughts", { waitMs: 50 });
    const behind = await ann.send(address, "and more", { waitMs: 50 });
    const out = { postId, address, withdrawing: false, recovering: false };
    await until("bob has signed", () => healthOf(ann).pending[1]?.unsigned?.length === 2);
    const [last, first] = healthOf(ann).pending;
    expect(first?.unsigned?.toSorted()).toEqual(["cyd", "dan"]);
    expect([last, { ...first, unsigned: [] }]).toEqual([
      { ...out, postId: behind.postId, unsigned: null },
      { ...out, unsigned: [] },
    ]);
    expect(await Owner.withdraw(ann.agent, { postId })).toEqual({
      kind: "asked",
      postId,
      address,
      said: true,
      refusable: false,
    });
    expect(healthOf(ann)).toMatchObject({
      pendingPosts: 2,
      withdrawingPosts: 1,
      pendingAddresses: [address],
      pending: [{ withdrawing: false }, { withdrawing: true }],
    });
  },
);

verifies(
  ["MGT-180", "MGT-181", "MGT-185"],
  "of an old copy whose member is away, the conversation is named, its posts wait for it, and nobody can be asked",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await network.router.stop();
    await until("ann sees it", () => !ann.agent.link.connected());
    const { postId } = await ann.send("agent:bob", "two", { waitMs: 20 });
    await ann.close();
    network.keepStore("ann", "early");
    const newer = await network.open("ann");
    await network.router.start();
    await bob.untilItems(2);
    await Promise.all([newer.close(), bob.close()]);
    network.replaceStore("ann", "early");
    const old = await network.open("ann");
    await until("it is found", () => LostMemory.notedAt(old.db) !== null);
    await until("it is told", () => LostMemory.untoldIds(old.db, null, 1).length === 0);
    expect(healthOf(old)).toMatchObject({
      restored: { conversations: 1, addresses: ["agent:bob"] },
      pending: [{ postId, recovering: true }],
    });
    expect(await Owner.withdraw(old.agent, { postId })).toEqual({
      kind: "recovering",
      postId,
      address: "agent:bob",
    });
    await network.open("bob");
    await until("it has recovered", () => healthOf(old).restored?.conversations === 0);
    expect(healthOf(old).restored?.addresses).toEqual([]);
    expect(LostMemory.backSince(old.db, 0)).toBeGreaterThan(0);
  },
);

verifies("MGT-181", "that all have recovered is said for seven days after the last of them", () => {
  const db = temporaryStore();
  const day = 86_400_000;
  const restoredAt = (now: number, of: Database = db) =>
    Health.read({
      db: of,
      agent: null,
      contactPolicy: ContactPolicy.open,
      network: { registryUrl: "https://registry.example", routerUrl: "wss://router.example" },
      firewall: Firewall.none,
      webhook: { kind: "none" },
      storeTrouble: null,
      now,
    }).restored;
  expect(restoredAt(0)).toBeNull();
  db.transaction(() => LostMemory.note(db, day));
  expect(restoredAt(8 * day - 1)).toMatchObject({ at: "1970-01-02T00:00:00.000Z", conversations: 0 });
  expect(restoredAt(8 * day)).toBeNull();
  db.transaction(() => LostMemory.recovered(db, 5 * day));
  expect(restoredAt(12 * day - 1)).toMatchObject({ at: "1970-01-02T00:00:00.000Z", addresses: [] });
  expect(restoredAt(12 * day)).toBeNull();
});
