// The fold in bad weather: a fixed set of seeds, a fresh one each time, and proof that the oracles can see.

import { randomInt } from "node:crypto";
import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { createAgents } from "@social-harness/testkit/simulation/Agents";
import { calm } from "@social-harness/testkit/simulation/Calm";
import { openConversation } from "@social-harness/testkit/simulation/Certify";
import { createWorld, type Member, type World } from "@social-harness/testkit/simulation/FoldWorld";
import { failureOf } from "@social-harness/testkit/simulation/Minimise";
import { watch } from "@social-harness/testkit/simulation/Oracles";
import type { Environment } from "@social-harness/testkit/simulation/Environment";
import { simulate } from "@social-harness/testkit/simulation/Simulation";

/** Runs seeds and fails with a line for each that broke something, so that it can be run again alone. */
const holdFor = (first: number, count: number, change: Partial<Environment> = {}): void => {
  const lines = Array.from({ length: count }, (_, i) => failureOf(first + i, { change })).flatMap(
    (failure) => (failure === null ? [] : [`seed ${failure.seed}: ${failure.message}`]),
  );
  if (lines.length > 0) expect.fail(lines.join("\n"));
};

describe("the invariants hold", () => {
  verifies(["HIS-80", "HIS-81", "HIS-82", "HIS-83", "HIS-84"], "for a fixed set of seeds", () =>
    holdFor(1, 100),
  );
  verifies(["HIS-80", "HIS-81", "HIS-82", "HIS-83", "HIS-84"], "for fresh seeds", () =>
    holdFor(randomInt(1_000_000_000), 50),
  );
  verifies(["HIS-80", "HIS-83"], "under Byzantine members who also propose", () =>
    holdFor(10_001, 25, { n: 4, byzantine: 1, nuisance: false, opened: true, absent: 0, mischief: 0.4 }),
  );
  verifies(["HIS-84", "HIS-43"], "and honest posts go on whatever members say who never propose", () =>
    holdFor(20_001, 15, {
      n: 4,
      byzantine: 1,
      nuisance: true,
      splitting: false,
      scheme: null,
      opened: true,
      absent: 0,
      gap: 0,
      laneLoss: 0,
      deafness: 0,
    }),
  );
  verifies(["HIS-82", "HIS-84"], "with real keys, and every envelope sealed, opened and decoded", () =>
    holdFor(30_001, 4, { real: true, n: 4, byzantine: 0 }),
  );
});

describe("the same seed", () => {
  verifies("HIS-37", "gives the same run", () => {
    for (const seed of [3, 14, 159]) expect(simulate(seed)).toEqual(simulate(seed));
  });
});

describe("the oracles see", () => {
  const worldOf = (n: number): World => {
    const { agents, registry, verifier } = createAgents(n, "oracles", false);
    const world = createWorld({ agents, trust: { verifier, registryKey: registry.publicKey } });
    openConversation(world);
    watch(world, new Set());
    return world;
  };
  const rest = (world: World): unknown => {
    try {
      return calm(world, { horizonMs: 60_000 });
    } catch (error) {
      return error instanceof Error ? error.message : error;
    }
  };

  verifies("HIS-83", "a member that forgot its vote and votes again", () => {
    const world = worldOf(3);
    const member = world.all[2] as Member;
    const before = member.disk;
    world.submit(0, "one");
    world.flush(0);
    world.deliverLane(2);
    member.disk = { ...before, cursor: 1 };
    world.submit(1, "two");
    expect(rest(world)).toBe("one vote a slot: 2 signed twice in its slot action 1 0 false");
  });

  verifies("HIS-81", "a member that lost a certified record", () => {
    const world = worldOf(4);
    const member = world.all[3] as Member;
    const before = member.disk;
    world.submit(0, "one");
    expect(rest(world)).toBe(true);
    world.onCommitted.unshift(({ member: { index }, after }) => {
      if (index === 3 && after.records.length > 2) (after.records as Array<unknown>).splice(1, 1);
    });
    expect(before.records).toHaveLength(1);
    world.submit(1, "two");
    expect(rest(world)).toMatch(/^I3: member 3 lost a certified record/);
  });

  verifies("HIS-81", "a vote that left without being on its signer's disk", () => {
    const world = worldOf(3);
    world.submit(0, "one");
    world.flush(0);
    world.deliverLane(1);
    const [vote] = (world.all[1] as Member).disk.outbox;
    const member = world.all[2] as Member;
    member.disk = { ...member.disk, outbox: [] };
    const packets = JSON.parse(
      JSON.stringify(vote?.packets).replaceAll((world.all[1] as Member).id, member.id),
    ) as never;
    expect(() => world.accept(member.id, { to: member.id, packets })).toThrow("I7");
  });
});
