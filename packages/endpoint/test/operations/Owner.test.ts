import { expect } from "vitest";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import { ConversationId } from "@social-harness/protocol/identity/Identifier";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Owner from "../../src/operations/Owner.ts";

const roundOf = ({ db }: NetworkAgent): unknown =>
  db.get("SELECT json_extract(state, '$.anchor.round') AS round FROM conversation")?.["round"];

verifies("HIS-137", "a conversation of two goes on in a new round when either owner wishes it", async () => {
  const network = await testNetwork();
  const [ann, bob] = await network.openAll(["ann", "bob"]);
  await ann.send("agent:bob", "one");
  await bob.untilItems(1);
  const wished = await Owner.wishRound(bob.agent, { address: "agent:ann" as never });
  expect(wished).toMatchObject({
    kind: "wished",
    address: "agent:ann",
    currentRound: 0,
    round: 1,
    again: false,
    wishesToJoin: 1,
    wishesNeeded: 2,
    said: true,
  });
  await until("both are in it", () => [ann, bob].every((agent) => roundOf(agent) === 1));
  const { conversationId } = wished as { readonly conversationId: ConversationId };
  expect(await Owner.wishRound(ann.agent, { conversationId })).toMatchObject({
    round: 2,
    address: "agent:bob",
  });
  await until("both are in the next", () => [ann, bob].every((agent) => roundOf(agent) === 2));
  expect((await ann.send("agent:bob", "two")).status).toBe("certified");
  const rounds = (await ann.history("agent:bob")).map(
    ({ routerAnchor }) => Reanchor.bodyOf(routerAnchor).round,
  );
  expect(rounds).toEqual([0, 2]);
  expect(Owner.evidence(ann.db)).toEqual({ equivocations: [], formerRouters: [] });
  expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
});

verifies(
  ["HIS-137", "MGT-184"],
  "in a larger group one wish alone changes nothing; the second one does",
  async () => {
    const network = await testNetwork();
    const members = ["ann", "bob", "cyd", "dan"] as const;
    const [ann, bob, cyd] = await network.openAll(members);
    const address = `group:${members.join()}` as never;
    await ann.send(address, "one");
    await cyd.untilItems(1);
    const standing = { currentRound: 0, round: 1, wishesToJoin: 2, wishesNeeded: 3 };
    expect(await Owner.wishRound(ann.agent, { address })).toMatchObject({ ...standing, again: false });
    expect(await Owner.wishRound(ann.agent, { address })).toMatchObject({ ...standing, again: true });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(roundOf(cyd)).toBe(0);
    await Owner.wishRound(bob.agent, { address });
    await until("cyd is in it", () => roundOf(cyd) === 1);
    expect((await cyd.send(address, "two")).status).toBe("certified");
    expect((await network.judge(members)).problems).toEqual([]);
  },
);

verifies(
  "HIS-137",
  "a wish without a connection is kept, one for nobody's conversation is refused",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    const unknown = { conversationId: ConversationId.fromBytes(Buffer.alloc(32, 1)) };
    expect(await Owner.wishRound(ann.agent, unknown)).toEqual({ kind: "unknown-conversation" });
    await network.router.stop();
    await until("it is gone", () => !ann.agent.link.connected());
    const wished = await Owner.wishRound(ann.agent, { address: "agent:bob" as never });
    expect(wished).toMatchObject({ kind: "wished", round: 1, said: false });
    await network.router.start();
    await until("both are in it", () => [ann, bob].every((agent) => roundOf(agent) === 1));
  },
);

verifies(
  "MGT-16",
  "what the Router was caught at is shown with the conversation that it happened in",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    await network.router.stop();
    network.router.saveLog("early");
    await network.router.start();
    await ann.send("agent:bob", "two");
    await bob.untilItems(2);
    await network.router.stop();
    network.router.replaceLog("early");
    await network.router.start();
    await ann.send("agent:bob", "three");
    await until("there is a proof", () => Owner.evidence(bob.db).equivocations.length > 0);
    const { equivocations, formerRouters } = Owner.evidence(bob.db);
    expect(equivocations.some(({ address, heads }) => address === "agent:ann" && heads.length === 2)).toBe(
      true,
    );
    expect(formerRouters).toMatchObject([{ reason: "rolled-back" }]);
  },
);
