import { expect } from "vitest";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { cursorOf } from "./ForgingRouter.ts";
import { openStranger, packed } from "./Stranger.ts";

const heldBy = ({ db }: NetworkAgent): number =>
  Number(db.get("SELECT count(*) AS held FROM held_envelope")?.["held"]);

const isKnownTo = ({ db }: NetworkAgent, agentId: string): boolean =>
  db.get("SELECT 1 FROM card WHERE agent_id = ?", agentId) !== undefined;

verifies(
  "HIS-50",
  "while the Registry is down envelopes of an unknown sender are held, 64 of them, and the mailbox goes on",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "hello");
    const mal = await openStranger(network, "mal");
    await network.registry.stop();
    const before = cursorOf(bob);
    const passedOver = () =>
      bob.lines.filter(({ fields }) => fields["note"] === "too many envelopes of an unknown sender are held");
    for (let i = 0; i < 66; i++) await mal.whisper(bob.card, packed([i]));
    await until("bob's mailbox went on", () => cursorOf(bob) >= before + 66 && passedOver().length >= 2);
    expect(heldBy(bob)).toBe(64);
    expect(passedOver()).toHaveLength(2);
    expect((await ann.send("agent:bob", "goes on")).status).toBe("certified");
    await bob.close();
    const again = await network.open("bob");
    expect(heldBy(again)).toBe(64);
    expect((await ann.send("agent:bob", "still goes on")).status).toBe("certified");
    await network.registry.start();
    await until("they are taken in", () => heldBy(again) === 0);
    expect(isKnownTo(again, mal.card.agentId)).toBe(true);
    expect(again.lines.filter(({ fields }) => fields["note"] === "no known closed shape")).toHaveLength(64);
    expect(again.lines.filter(({ level }) => level === "error")).toEqual([]);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  "HIS-50",
  "an envelope of an agent that nobody registered is dropped when the Registry says so",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await network.registry.stop();
    network.registry.saveLog("without");
    await network.registry.start();
    const mal = await openStranger(network, "mal");
    await network.registry.stop();
    await mal.whisper(bob.card, packed([0]));
    await until("it is held", () => heldBy(bob) === 1);
    network.registry.replaceLog("without");
    await network.registry.start();
    await until("it is dropped", () => heldBy(bob) === 0);
    expect(isKnownTo(bob, mal.card.agentId)).toBe(false);
    expect(bob.lines.map(({ event }) => event)).toContain(
      "what needs the card of an unregistered agent is dropped",
    );
    expect((await ann.send("agent:bob", "hello")).status).toBe("certified");
  },
);

verifies(
  ["HIS-50", "RUN-62"],
  "a first contact brings its members' cards, so it needs no Registry at those it is made with",
  async () => {
    const network = await testNetwork();
    const [ann, bob, cyd] = await network.openAll(["ann", "bob", "cyd"], { sendWaitMs: 100 });
    await network.router.stop();
    await until("ann sees it", () => !ann.agent.link.connected());
    expect((await ann.send("group:bob,cyd", "to both")).status).toBe("pending");
    await network.registry.stop();
    expect(isKnownTo(bob, ann.card.agentId)).toBe(false);
    await network.router.start();
    await bob.untilItems(1);
    await cyd.untilItems(1);
    expect(isKnownTo(bob, cyd.card.agentId)).toBe(true);
    expect(heldBy(bob) + heldBy(cyd)).toBe(0);
    const more = await cyd.send("agent:bob", "now that the cards are known", {});
    await until("bob has it", () => bob.texts().length === 2);
    expect(more.postId).toMatch(/^pst_/);
    expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
  },
);
