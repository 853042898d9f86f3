// The simulated Router's faults, and the wire in earnest: what members are shown, what they meet again, what opens to whom.

import { describe, expect, test } from "vitest";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import type { AgentId, AnchorHash } from "@social-harness/protocol/identity/Identifier";
import type { SealingSecret } from "@social-harness/router/seal/SealingKeys";
import { verifies } from "@social-harness/testkit/Verifies";
import { createAgents } from "@social-harness/testkit/simulation/Agents";
import { calm } from "@social-harness/testkit/simulation/Calm";
import { openConversation } from "@social-harness/testkit/simulation/Certify";
import { createWorld, type Member, type World } from "@social-harness/testkit/simulation/FoldWorld";
import { watch } from "@social-harness/testkit/simulation/Oracles";
import { createRandom } from "@social-harness/testkit/simulation/Random";
import * as Router from "@social-harness/testkit/simulation/Router";
import { sealedWire } from "@social-harness/testkit/simulation/Wire";

const envelope = (number: number): Router.Envelope => ({
  from: `agt_${number}` as AgentId,
  packets: [],
  laneSequence: number,
  closedTo: new Set(),
  sealed: null,
});

const orderOf = (instance: Router.RouterInstance, index: number): ReadonlyArray<string> =>
  Router.viewOf(instance, index).map(({ from }) => from);

const filled = (count: number): Router.RouterInstance => {
  const instance = Router.createInstance(0, 3);
  for (let i = 0; i < count; i++) Router.append(instance, envelope(i), () => 0);
  return instance;
};

const worldOf = (n: number): World => {
  const { agents, registry, verifier } = createAgents(n, "faulty router", false);
  const world = createWorld({ agents, trust: { verifier, registryKey: registry.publicKey } });
  openConversation(world);
  watch(world, new Set());
  return world;
};

describe("an honest instance", () => {
  test("shows everybody one lane", () => {
    const instance = filled(5);
    expect(orderOf(instance, 0)).toHaveLength(5);
    expect(orderOf(instance, 1)).toEqual(orderOf(instance, 0));
  });
});

describe("an equivocating instance", () => {
  const instance = filled(5);
  const common = orderOf(instance, 0);
  Router.fork(instance, createRandom(3));
  for (let i = 5; i < 40; i++) Router.append(instance, envelope(i), (index) => (index === 0 ? 5 : 0));

  test("shows members different orders, and not everything", () => {
    expect(orderOf(instance, 0)).not.toEqual(orderOf(instance, 1));
    expect(orderOf(instance, 1).length).toBeLessThan(40);
  });
  test("changes nothing that a member has read", () => {
    expect(orderOf(instance, 0).slice(0, 5)).toEqual(common);
  });
  test("shows the rest alike once it is honest again", () => {
    instance.fork = null;
    Router.append(instance, envelope(99), () => 0);
    expect([0, 1, 2].map((index) => orderOf(instance, index).at(-1))).toEqual(["agt_99", "agt_99", "agt_99"]);
  });
});

describe("meeting an instance", () => {
  const anchor = "anc_1" as AnchorHash;
  test("that has forgotten begins where its log ends, with doubt about the anchor", () => {
    const instance = filled(10);
    const binding = Router.bindingTo(instance);
    Router.rollBack(instance, 4, createRandom(1));
    expect(Router.meet(binding, instance, 9, anchor)).toBe(4);
    expect(binding.formerAnchor).toBe(anchor);
    expect(Router.meet(binding, instance, 4, anchor)).toBe(4);
  });
  test("that forgot only what was not read changes nothing", () => {
    const instance = filled(10);
    const binding = Router.bindingTo(instance);
    Router.rollBack(instance, 6, createRandom(1));
    expect(Router.meet(binding, instance, 3, anchor)).toBe(3);
    expect(binding.formerAnchor).toBeNull();
  });
  test("of earlier goes on from where it was left", () => {
    const [first, second] = [filled(3), filled(0)];
    const binding = Router.bindingTo(first);
    expect(Router.meet(binding, second, 3, anchor)).toBe(0);
    expect(Router.meet(binding, first, 1, anchor)).toBe(3);
  });
});

describe("a conversation", () => {
  verifies("HIS-84", "goes on in a new round under a fresh Router, with nothing lost or doubled", () => {
    const world = worldOf(4);
    world.submit(0, "before");
    expect(calm(world, { horizonMs: 60_000 })).toBe(true);
    world.submit(1, "between");
    world.replaceRouter();
    for (const { index } of world.all) {
      world.disconnect(index);
      world.connect(index);
    }
    world.submit(2, "after");
    calm(world, { horizonMs: 600_000 });
    for (const { disk } of world.all) {
      expect(disk.records).toHaveLength(4);
      expect(disk.state.anchor?.routerInstanceId).toBe(world.routerInstanceId);
    }
  });

  test("brings a member up to date whose disk comes back older", () => {
    const world = worldOf(4);
    const backup = (world.all[3] as Member).disk;
    world.submit(0, "before");
    calm(world, { horizonMs: 60_000 });
    world.restore(3, backup);
    world.restart(3);
    world.submit(0, "after");
    calm(world, { horizonMs: 60_000 });
    expect(world.all.map(({ disk }) => disk.records.length)).toEqual([3, 3, 3, 3]);
  });

  test("loses a turn that the store refuses, and the connection with it", () => {
    const world = worldOf(2);
    world.refuses = ({ index }) => index === 1;
    world.submit(0, "hello");
    world.flush(0);
    expect(world.deliverLane(1)).toBe(true);
    expect(world.all[1]).toMatchObject({ connected: false, up: true });
    expect(world.all[1]?.disk.cursor).toBe(0);
    world.refuses = () => false;
    world.connect(1);
    expect(calm(world, { horizonMs: 60_000 })).toBe(true);
    expect(world.all[1]?.disk.records).toHaveLength(2);
  });
});

describe("a sealed wire", () => {
  const { agents } = createAgents(3, "sealed wire", true);
  const ids = agents.map(({ card }) => card.agentId);
  const secrets = new Map(agents.map(({ card, sealing }) => [card.agentId, sealing as SealingSecret]));
  const wire = sealedWire(secrets, 1);
  const [from, friend, other] = ids as [AgentId, AgentId, AgentId];
  const sealedOf = (packets: ReadonlyArray<unknown>, closedTo: ReadonlySet<AgentId>): Router.Envelope => ({
    ...envelope(1),
    sealed: wire.seal(from, ids, packets as ReadonlyArray<Packet>, closedTo),
  });
  const empty = { kind: "vote_packet", actionVotes: [], durabilityVotes: [], carryVotes: [] };

  verifies("HIS-49", "opens to members, not to one whose entry was spoilt", () => {
    const envelopeForMost = sealedOf([empty], new Set([other]));
    expect(wire.open(envelopeForMost, friend)).toEqual([empty]);
    expect(wire.open(envelopeForMost, other)).toBeNull();
  });
  test("gives no packet that the closed decoder refuses", () => {
    expect(wire.open(sealedOf([{ ...empty, more: 1 }, empty, "noise"], new Set()), friend)).toEqual([empty]);
  });
});
