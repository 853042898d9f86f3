// Several authors want the same slot: the lane decides, the losers come again, and nobody waits for ever.

import { describe, expect } from "vitest";
import * as fc from "fast-check";
import { verifies } from "@social-harness/testkit/Verifies";
import { calm } from "@social-harness/testkit/simulation/Calm";
import { createRandom } from "@social-harness/testkit/simulation/Random";
import * as Record from "@social-harness/protocol/history/Record";
import type { PostId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { hand, proposalOf, scenario } from "./Scenario.ts";

describe("proposals at the same height", () => {
  for (const [n, opened] of [
    [3, false],
    [3, true],
    [4, false],
    [4, true],
    [7, true],
  ] as const) {
    const where = opened ? "above a head" : "for GENESIS";
    verifies(
      ["HIS-22", "HIS-25", "HIS-82"],
      `${where} of ${n}: the first in the lane wins, the others follow, once each`,
      () => {
        const story = scenario(n, opened);
        const posts = story.world.all.map(({ id }) => story.say(story.name(id), "hello"));
        // The last member reaches the Router first.
        for (let index = n - 1; index >= 0; index--) story.world.flush(index);
        story.run(60_000);
        const chain = story.chain("A");
        expect(story.chains()).toEqual(story.world.all.map(() => chain));
        expect(chain[0]).toBe(`${story.name(story.world.members.ids[n - 1] as never)}: hello`);
        expect([...chain].sort()).toEqual(story.world.all.map(({ id }) => `${story.name(id)}: hello`).sort());
        const certified = story
          .at("A")
          .disk.records.map(({ recordCore }) => recordCore.action.postIntent.postId);
        expect(certified.slice(opened ? 1 : 0).sort()).toEqual([...posts].sort());
        expect(
          story.world.all.every(({ disk }) => disk.state.open.length === 0 && disk.cores.size === 0),
        ).toBe(true);
      },
    );
  }

  verifies(["HIS-26", "HIS-82"], "an author has one of them open, its oldest post first", () => {
    const story = scenario(3);
    for (const text of ["1", "2", "3"]) story.say("A", text);
    expect(story.at("A").disk.outbox).toHaveLength(1);
    story.run(10_000);
    expect(story.chain("B")).toEqual(["A: 1", "A: 2", "A: 3"]);
  });

  verifies("HIS-26", "an author makes none while another's holds its lock", () => {
    const story = scenario(3);
    hand(story, "A", "B", proposalOf(story, "B", "first"));
    story.sent();
    story.say("A", "second");
    expect(story.at("A").disk.state.proposal).toBeNull();
    expect(story.at("A").disk.outbox.map(({ to }) => to)).toEqual([story.at("B").id]);
  });

  verifies("HIS-22", "the lock goes by the place in the lane, not by what came to be known first", () => {
    const story = scenario(4);
    const head = story.at("A").disk.state.head;
    const predecessor = proposalOf(story, "B", "predecessor");
    hand(story, "D", "B", predecessor, 5);
    const previousRecordHash = Record.recordHashOf(predecessor.recordCore);
    const position = { height: (head?.height ?? 0) + 2, previousRecordHash };
    const late = proposalOf(story, "C", "later in the lane", { position });
    const early = proposalOf(story, "A", "earlier in the lane", { position });
    hand(story, "D", "C", late, 9);
    hand(story, "D", "A", early, 7);
    hand(story, "A", "B", predecessor, 5);
    hand(story, "B", "B", predecessor, 5);
    story.run(2 * Limits.silenceMsMin);
    const places = story.at("D").disk.state.open.map(({ laneSequence }) => laneSequence);
    const lock = story.at("D").disk.state.slot.lock;
    expect(places).toEqual([9, 7]);
    expect(story.at("D").disk.state.open.find((record) => record.recordHash === lock)?.laneSequence).toBe(7);
  });
});

describe("the courtesy of a winner", () => {
  verifies("HIS-27", "lets the loser go next, and ends as soon as it went", () => {
    const story = scenario(3);
    for (const text of ["1", "2"]) story.say("A", text);
    story.say("B", "1");
    story.run(0);
    expect(story.chain("C")).toEqual(["A: 1", "B: 1", "A: 2"]);
  });

  verifies("HIS-27", "lasts a second where the loser is not heard of again", () => {
    const story = scenario(3);
    const { world } = story;
    for (const text of ["1", "2"]) story.say("A", text);
    story.say("B", "1");
    world.flush(0);
    world.flush(1);
    world.loses = (from, packets) =>
      from === story.at("B").id && packets.some(({ kind }) => kind === "proposal_packet");
    story.run(Limits.yieldMs - 1);
    expect(story.chain("C")).toEqual(["A: 1"]);
    expect(story.at("A").disk.state).toMatchObject({ proposal: null, yieldTo: [story.at("B").id] });
    story.run(1);
    expect(story.chain("C")).toEqual(["A: 1", "A: 2"]);
  });

  verifies("HIS-27", "goes to every loser once: three who never stop take turns", () => {
    const story = scenario(3);
    for (let i = 1; i <= 10; i++) for (const name of ["A", "B", "C"]) story.say(name, String(i));
    story.run(60_000);
    const chain = story.chain("A");
    for (let i = 0; i + 3 <= chain.length; i += 3) {
      expect(new Set(chain.slice(i, i + 3).map((line) => line[0]))).toEqual(new Set(["A", "B", "C"]));
    }
  });

  verifies("HIS-27", "is owed as well to an author whose proposal came when its slot was over", () => {
    const story = scenario(4);
    const late = proposalOf(story, "B", "late");
    for (const text of ["1", "2"]) story.say("A", text);
    story.run(0);
    expect(story.chain("A")).toEqual(["A: 1", "A: 2"]);
    hand(story, "A", "B", late);
    expect(story.at("A").disk.state).toMatchObject({ yieldTo: [story.at("B").id], yieldUntil: null });
    for (const text of ["3", "4"]) story.say("A", text);
    story.run(Limits.yieldMs - 1);
    expect(story.chain("A")).toEqual(["A: 1", "A: 2", "A: 3"]);
    story.run(1);
    expect(story.chain("A")).toEqual(["A: 1", "A: 2", "A: 3", "A: 4"]);
    // Who repeats a post that is certified has lost nothing.
    const postId = story.at("A").disk.intents[0]?.intent.postId as PostId;
    hand(story, "C", "A", proposalOf(story, "A", "1", { postId, position: { height: 1 } }));
    expect(story.at("C").disk.state.yieldTo).toEqual([]);
  });

  verifies(["HIS-27", "HIS-84"], "starves nobody: two eager authors both progress, whoever is faster", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1_000_000 }),
        fc.constantFrom(2, 3, 4),
        fc.integer({ min: 1, max: 10 }),
        (seed, n, handicap) => {
          const story = scenario(n);
          const { world } = story;
          const random = createRandom(seed);
          for (let i = 1; i <= 12; i++) for (const name of ["A", "B"]) story.say(name, String(i));
          // A's envelopes leave at once; B's wait for their turn, one in `handicap`.
          for (let i = 0; i < 40_000 && story.chain("A").length < 12; i++) {
            const member = random.pick(world.all);
            if (member.index !== 1 || random.below(handicap) === 0) world.flush(member.index);
            world.deliverLane(member.index);
            world.deliverFromBag(member.index, 0);
            world.now += 1;
            world.tick();
          }
          const authors = new Set(story.chain("A").map((line) => line[0]));
          expect(authors).toEqual(new Set(["A", "B"]));
          expect(calm(world, { horizonMs: 600_000, random })).toBe(true);
          expect(story.chain("A")).toHaveLength(24);
        },
      ),
      { numRuns: 12 },
    );
  });
});
