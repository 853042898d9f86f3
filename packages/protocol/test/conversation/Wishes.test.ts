// What makes a member wish for a round, what wishes make of it, and when they are over.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Limits from "@social-harness/protocol/Limits";
import { byHand, hand, type Scenario, scenario } from "./Scenario.ts";
import {
  kindsSaidBy,
  nextRound,
  roundOf,
  saidBy,
  statementOf,
  statementsIn,
  wait,
  wishesIn,
  wishOf,
} from "./RoundStories.ts";

const roundsOf = (story: Scenario, name: string) => story.at(name).disk.state.rounds;

describe("a wish", () => {
  verifies(
    "HIS-71",
    "of f others moves nobody, of f + 1 makes a member wish, and binds it to nothing",
    () => {
      const story = byHand(7);
      hand(story, "A", "B", wishOf(story, "B", 3));
      hand(story, "A", "C", wishOf(story, "C", 2));
      expect(saidBy(story, "A")).toEqual([]);
      hand(story, "A", "D", wishOf(story, "D", 4));
      expect(wishesIn(saidBy(story, "A"))).toEqual([2]);
      expect(roundsOf(story, "A")).toMatchObject({ wish: 2, bound: 0, own: null });
      story.say("A", "still voting");
      expect(kindsSaidBy(story, "A")).toEqual(["proposal_packet"]);
    },
  );

  verifies("HIS-71", "counts for its own signer, on the lane, and only the highest of one member", () => {
    const story = scenario(7);
    for (const round of [1, 2, 3]) hand(story, "A", "B", wishOf(story, "B", round));
    hand(story, "A", "C", wishOf(story, "B", 5));
    hand(story, "A", "C", { ...wishOf(story, "C", 5), round: 6 });
    hand(story, "A", "D", wishOf(story, "D", 5), null);
    hand(story, "A", "B", wishOf(story, "B", 1));
    expect(saidBy(story, "A")).toEqual([]);
    expect(roundsOf(story, "A").wishes).toEqual({ [story.at("B").id]: 3 });
    expect(story.notes()).toHaveLength(3);
  });

  verifies("HIS-72", "of q(n) members makes the statement for the round that all of them reach", () => {
    const story = byHand(7);
    for (const [name, round] of [
      ["B", 9],
      ["C", 2],
      ["D", 2],
    ] as const)
      hand(story, "A", name, wishOf(story, name, round));
    expect(statementsIn(saidBy(story, "A"))).toEqual([]);
    hand(story, "A", "E", wishOf(story, "E", 3));
    const [said] = statementsIn(saidBy(story, "A"));
    expect(said?.statement).toMatchObject({ round: 2, head: { height: 0 }, prepared: null });
    expect(roundsOf(story, "A")).toMatchObject({ bound: 2 });
  });

  for (const n of [2, 3, 4]) {
    verifies(
      ["HIS-71", "HIS-88"],
      `of the owner alone moves a conversation of ${n} only with f + 1 of them`,
      () => {
        const story = scenario(n);
        story.world.feed(0, { kind: "wish-round" });
        story.run(0);
        expect(story.world.all.map(roundOf)).toEqual(story.world.all.map(() => (n < 4 ? 1 : 0)));
        story.world.feed(1, { kind: "wish-round" });
        story.run(0);
        expect(story.world.all.map(roundOf)).toEqual(story.world.all.map(() => (n < 4 ? 2 : 1)));
      },
    );
  }

  verifies("HIS-88", "waits for the connection, through a restart, and is made once", () => {
    const story = scenario(2);
    story.world.disconnect(0);
    story.world.feed(0, { kind: "wish-round" });
    story.world.feed(0, { kind: "wish-round" });
    expect(saidBy(story, "A")).toEqual([]);
    story.world.crash(0);
    story.world.restart(0);
    story.run(Limits.silenceMsMin);
    expect(story.world.all.map(roundOf)).toEqual([1, 1]);
    story.say("A", "hello");
    story.run(1_000);
    expect(story.chains()).toEqual([["A: hello"], ["A: hello"]]);
  });

  verifies("HIS-89", "comes of another Router instance, and the conversation goes on there", () => {
    for (const n of [2, 4]) {
      const story = scenario(n);
      story.say("A", "before");
      story.run(1_000);
      story.world.replaceRouter();
      for (const { index } of story.world.all) story.world.disconnect(index);
      for (const { index } of story.world.all) story.world.connect(index);
      story.say("B", "after");
      story.run(10_000);
      expect(story.chains()).toEqual(story.world.all.map(() => ["A: before", "B: after"]));
      for (const member of story.world.all) {
        expect(roundOf(member)).toBeGreaterThan(0);
        expect(member.disk.state.anchor?.routerInstanceId).toBe(story.world.routerInstanceId);
      }
    }
  });
});

describe("no progress", () => {
  /** A proposed and is answered by nobody. */
  const stuck = (): Scenario => {
    const story = scenario(4);
    story.say("A", "hello");
    saidBy(story, "A");
    return story;
  };
  const hears = (story: Scenario, ...names: ReadonlyArray<string>): void => {
    for (const name of names) hand(story, "A", name, wishOf(story, name, 0), null);
  };

  verifies("HIS-85", "for T is cause when q(n) members were heard meanwhile, and not before", () => {
    const story = stuck();
    hears(story, "B", "C");
    wait(story, "A", Limits.roundMsMin - 1);
    expect(wishesIn(saidBy(story, "A"))).toEqual([]);
    wait(story, "A", 1);
    expect(wishesIn(saidBy(story, "A"))).toEqual([1]);
  });

  verifies("HIS-85", "is none while fewer are heard, and T doubles to its maximum", () => {
    const story = stuck();
    for (let ms = Limits.roundMsMin; ms < 20 * Limits.roundMsMax; ms *= 2) {
      hears(story, "B");
      wait(story, "A", Math.min(ms, Limits.roundMsMax));
      expect(wishesIn(saidBy(story, "A"))).toEqual([]);
      expect(roundsOf(story, "A").stall?.intervalMs).toBe(Math.min(2 * ms, Limits.roundMsMax));
    }
    hears(story, "B", "D");
    wait(story, "A", Limits.roundMsMax);
    expect(wishesIn(saidBy(story, "A"))).toContain(1);
  });

  verifies(
    "HIS-85",
    "with q(n) members waiting for an anchor is cause for the round after it, at doubling times",
    () => {
      const story = byHand(4);
      for (const name of ["B", "C", "D"]) hand(story, "A", name, wishOf(story, name, 1));
      saidBy(story, "A");
      wait(story, "A", Limits.roundMsMin);
      expect(wishesIn(saidBy(story, "A"))).toEqual([2]);
      for (const name of ["B", "C", "D"]) hand(story, "A", name, wishOf(story, name, 2));
      expect(roundsOf(story, "A").bound).toBe(2);
      saidBy(story, "A");
      wait(story, "A", Limits.roundMsMin);
      expect(wishesIn(saidBy(story, "A"))).toEqual([]);
      wait(story, "A", Limits.roundMsMin);
      expect(wishesIn(saidBy(story, "A"))).toEqual([3]);
    },
  );

  verifies("HIS-85", "is told apart from quiet: a conversation without work never wishes", () => {
    const story = byHand(4);
    hand(story, "A", "B", wishOf(story, "B", 1));
    wait(story, "A", 10 * Limits.roundMsMax);
    expect(saidBy(story, "A")).toEqual([]);
    expect(story.world.nextWake()).toBeNull();
  });
});

describe("a wish is over", () => {
  verifies("HIS-86", "when nothing is under way", () => {
    const story = scenario(4);
    story.world.feed(0, { kind: "wish-round" });
    story.run(Limits.roundMsMin);
    expect(roundsOf(story, "A")).toMatchObject({ wish: 0, bound: 0, stall: null });
    expect(story.world.nextWake()).toBeNull();
    expect(story.world.all.map(roundOf)).toEqual([0, 0, 0, 0]);
  });

  verifies("HIS-86", "when a record is certified, the others' too, and what was stated stays", () => {
    const story = byHand(7);
    hand(story, "A", "B", wishOf(story, "B", 7));
    hand(story, "A", "C", statementOf(story, "C", 5));
    story.say("A", "hello");
    story.run(1_000);
    expect(story.chain("A")).toEqual(["A: hello"]);
    expect(roundsOf(story, "A")).toMatchObject({
      wish: 0,
      wishes: { [story.at("C").id]: 5 },
      stated: { [story.at("C").id]: 5 },
    });
  });
});

describe("a member that is bound alone", () => {
  verifies(["HIS-90", "HIS-87"], "is joined by the others, though all is quiet", () => {
    const story = byHand(4);
    for (const name of ["A", "B", "C"]) hand(story, "D", name, wishOf(story, name, 1));
    expect(roundsOf(story, "D").bound).toBe(1);
    story.run(120_000);
    const [round] = story.world.all.map(roundOf);
    expect(round).toBeGreaterThan(0);
    expect(story.world.all.map(roundOf)).toEqual([round, round, round, round]);
    expect(story.world.nextWake()).toBeNull();
  });

  verifies(
    ["HIS-90", "HIS-94"],
    "and missed the re-anchor is shown it by whoever accepted it, its leader gone",
    () => {
      const story = scenario(4);
      story.world.loses = (_, packets, to) =>
        to.id === story.at("D").id && packets.some(({ kind }) => kind === "completed_reanchor");
      for (const { index } of story.world.all) story.world.feed(index, { kind: "wish-round" });
      story.run(0);
      expect(story.world.all.map(roundOf)).toEqual([1, 1, 1, 0]);
      story.world.loses = () => false;
      story.world.crash(1);
      story.run(4 * Limits.silenceMsMin);
      expect(story.world.all.map(roundOf)).toEqual([1, 1, 1, 1]);
    },
  );

  verifies(
    "HIS-90",
    "is given up when it has not been joined for long, and helped when it says so again",
    () => {
      const story = byHand(4);
      hand(story, "A", "D", statementOf(story, "D", 5));
      story.run(3_600_000);
      expect(story.world.nextWake()).toBeNull();
      expect(roundsOf(story, "A")).toMatchObject({ wish: 0, bound: 0 });
      hand(story, "A", "D", statementOf(story, "D", 5));
      expect(roundsOf(story, "A").stall).not.toBeNull();
    },
  );
});

describe("a round", () => {
  verifies(["HIS-72", "HIS-74"], "changes for conversations of every size, and its posts go on", () => {
    for (const n of [2, 3, 4, 5, 7, 10]) {
      const story = scenario(n);
      for (let round = 1; round <= 3; round++) {
        nextRound(story);
        story.say("A", `in ${round}`);
        story.run(10_000);
      }
      expect(story.chains()).toEqual(story.world.all.map(() => ["A: in 1", "A: in 2", "A: in 3"]));
    }
  });
});
