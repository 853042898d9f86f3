// Whom a contact policy lets in, judged over a store, and what becomes of the posts of those whom it keeps out.

import { expect } from "vitest";
import { initial } from "@social-harness/protocol/conversation/State";
import * as Record from "@social-harness/protocol/history/Record";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { AgentId } from "@social-harness/protocol/identity/Identifier";
import * as Chains from "@social-harness/testkit/Chains";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";
import * as ContactPolicy from "../../src/conversations/ContactPolicy.ts";
import * as ConversationRows from "../../src/conversations/ConversationRows.ts";
import * as Cards from "../../src/transport/Cards.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

const policy = (
  contacts: "everyone" | "known" | ReadonlyArray<string>,
  ...blocked: ReadonlyArray<string>
): ContactPolicy.ContactPolicy => ({ contacts, blocked }) as ContactPolicy.ContactPolicy;

/** A store of ann with the cards of everybody in a chain of these agents, and their conversation where one is asked for. */
const storeOf = (names: ReadonlyArray<string>, conversation: "none" | "uncertified" | "certified") => {
  const db = temporaryStore();
  const { actors, members, records } = Chains.chain(["ann", ...names], [{ author: "ann", text: "opening" }]);
  db.transaction(() => {
    for (const { card } of actors) Cards.keep(db, card);
    if (conversation === "none") return;
    const created = ConversationRows.create(db, members, actors[0]?.card.agentId as AgentId);
    const [record] = records;
    if (conversation === "uncertified" || record === undefined) return;
    const { recordHash, recordCore } = record;
    const head = { height: 0, recordHash, anchorHash: Record.anchorHashOf(record.routerAnchor as never) };
    expect(recordCore.anchorHash).toBe(head.anchorHash);
    ConversationRows.save(db, { ...created, state: { ...initial, head } });
  });
  const idOf = (name: string): AgentId =>
    Cards.byName(db, name as AgentName)?.agentId ?? AgentId.fromBytes(Buffer.alloc(16, 7));
  return (of: ContactPolicy.ContactPolicy, name: string): boolean => ContactPolicy.admits(db, of, idOf(name));
};

verifies("HIS-158", "everyone but the blocked is let in, and nobody whose card is not here", () => {
  const admits = storeOf(["bob", "cyd"], "none");
  expect(admits(ContactPolicy.open, "bob")).toBe(true);
  expect(admits(policy("everyone", "cyd"), "bob")).toBe(true);
  expect(admits(policy("everyone", "cyd", "bob"), "bob")).toBe(false);
  expect(admits(ContactPolicy.open, "nobody")).toBe(false);
});

verifies("HIS-158", "a list names the only ones, and the blocked of them are kept out", () => {
  const admits = storeOf(["bob", "cyd"], "certified");
  expect(admits(policy(["bob"]), "bob")).toBe(true);
  expect(admits(policy(["bob"]), "cyd")).toBe(false);
  expect(admits(policy([]), "bob")).toBe(false);
  expect(admits(policy(["bob", "cyd"], "bob"), "bob")).toBe(false);
  // A name is compared whole.
  expect(admits(policy(["bobby", "bo"]), "bob")).toBe(false);
});

verifies("HIS-158", "known is who belongs to a certified conversation here, of any size", () => {
  for (const names of [["bob"], ["bob", "cyd"], ["bob", "cyd", "dan", "eve"]]) {
    expect(storeOf(names, "none")(policy("known"), "bob")).toBe(false);
    expect(storeOf(names, "uncertified")(policy("known"), "bob")).toBe(false);
    const admits = storeOf(names, "certified");
    for (const name of names) expect([name, admits(policy("known"), name)]).toEqual([name, true]);
    expect(admits(policy("known", "bob"), "bob")).toBe(false);
    expect(admits(policy("known"), "nobody")).toBe(false);
  }
  const db = temporaryStore();
  const { actors } = Chains.chain(["ann", "bob"], []);
  for (const { card } of actors) Cards.keep(db, card);
  for (const { card } of actors) expect(ContactPolicy.admits(db, policy("known"), card.agentId)).toBe(false);
});

const failuresOf = (agent: NetworkAgent): ReadonlyArray<unknown> =>
  agent.items().flatMap(({ item }) => (item.kind === "operationFailed" ? [item] : []));

/** A send that the members refuse: the call says so, and so does one item. */
const expectRefused = async (from: NetworkAgent, to: string, by = "bob"): Promise<void> => {
  const before = failuresOf(from).length;
  await expect(from.send(to, "let me in")).rejects.toMatchObject({
    reason: "refused",
    post: { postId: expect.stringMatching(/^pst_/) as unknown, refusedBy: by },
  });
  expect(failuresOf(from).slice(before)).toEqual([
    {
      kind: "operationFailed",
      postId: expect.stringMatching(/^pst_/) as unknown,
      to,
      error: { reason: "refused", message: expect.stringContaining("refused") as unknown },
    },
  ]);
};

verifies(
  ["HIS-150", "HIS-151", "HIS-158", "MGT-182", "MGT-183"],
  "who is blocked is told that the first post was refused, and nothing of it reaches the other's inbox",
  async () => {
    const network = await testNetwork();
    const ann = await network.open("ann");
    const bob = await network.open("bob", { contactPolicy: policy("everyone", "ann") });
    await expectRefused(ann, "agent:bob");
    // Asked again under its key it is the same post, also where its member is not asked any more.
    const first = ann.send("agent:bob", "let me in", { idempotencyKey: "one" });
    const refusal = await first.catch((error: unknown) => error);
    await expect(ann.send("agent:bob", "let me in", { idempotencyKey: "one" })).rejects.toEqual(refusal);
    // Again is refused again: what was refused once holds nothing up.
    await expectRefused(ann, "agent:bob");
    expect(bob.items()).toEqual([]);
    // Its owner finds each in the log, with the name of who was turned away.
    expect(bob.lines.filter(({ event }) => event.includes("refused by the contact policy"))).toMatchObject(
      Array.from({ length: 3 }, () => ({ level: "info", fields: { agent: "ann", address: "agent:ann" } })),
    );
    expect(bob.db.get("SELECT count(*) AS n FROM own_vote")).toEqual({ n: 0 });
    await expect(ann.history("agent:bob")).rejects.toMatchObject({ reason: "history-gap" });
    // Whoever keeps another out may still write first, and is answered then.
    expect((await bob.send("agent:ann", "I write to you")).status).toBe("certified");
    expect((await ann.send("agent:bob", "thank you")).status).toBe("certified");
    await bob.untilItems(1);
    expect(bob.texts()).toEqual(["thank you"]);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-150", "HIS-151", "HIS-158"],
  "one member that keeps the author out is enough for a group of three to come to nothing",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    const cyd = await network.open("cyd", { contactPolicy: policy(["bob"]) });
    await expectRefused(ann, "group:ann,bob,cyd", "cyd");
    expect([bob.items(), cyd.items()]).toEqual([[], []]);
    expect((await bob.send("group:ann,bob,cyd", "from bob it may come")).status).toBe("certified");
    await cyd.untilItems(1);
    expect((await ann.send("group:ann,bob,cyd", "and now from ann too")).status).toBe("certified");
    expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
  },
);

verifies("HIS-158", "whoever is in a certified group is known, and a stranger is not", async () => {
  const network = await testNetwork();
  const [ann, dan] = await network.openAll(["ann", "dan"]);
  const bob = await network.open("bob", { contactPolicy: policy("known") });
  const cyd = await network.open("cyd");
  await expectRefused(ann, "agent:bob");
  expect((await bob.send("group:ann,bob,cyd", "you are known now")).status).toBe("certified");
  expect((await ann.send("agent:bob", "directly")).status).toBe("certified");
  expect((await cyd.send("agent:bob", "cyd as well")).status).toBe("certified");
  await expectRefused(dan, "agent:bob");
  await bob.untilItems(2);
  expect(bob.texts().toSorted()).toEqual(["cyd as well", "directly"]);
  expect((await network.judge(["ann", "bob", "cyd", "dan"])).problems).toEqual([]);
});

verifies(
  ["HIS-150", "HIS-158"],
  "an established conversation goes on although its member is blocked afterwards",
  async () => {
    const network = await testNetwork();
    const [ann, cyd] = await network.openAll(["ann", "cyd"]);
    let bob = await network.open("bob");
    await ann.send("agent:bob", "before");
    await bob.untilItems(1);
    await bob.close();
    bob = await network.open("bob", { contactPolicy: policy("everyone", "ann") });
    expect((await ann.send("agent:bob", "after")).status).toBe("certified");
    await bob.untilItems(2);
    expect(bob.texts()).toEqual(["before", "after"]);
    await expectRefused(ann, "group:ann,bob,cyd");
    expect((await cyd.send("group:ann,bob,cyd", "cyd brings them together")).status).toBe("certified");
    expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
  },
);
