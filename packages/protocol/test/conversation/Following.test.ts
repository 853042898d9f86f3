// How far, how often and into what the words of others about rounds take a member.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { floorOf } from "@social-harness/protocol/conversation/Floor";
import * as Limits from "@social-harness/protocol/Limits";
import { back, byHand, down, hand, proposalOf, scenario, type Scenario } from "./Scenario.ts";
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

const stateOf = (story: Scenario, name: string) => story.at(name).disk.state;
const roundsOf = (story: Scenario, name: string) => stateOf(story, name).rounds;
const step = Limits.roundsAheadMax;
const last = Number.MAX_SAFE_INTEGER;

describe("a word of a far round", () => {
  for (const n of [2, 3]) {
    verifies("HIS-170", `moves a conversation of ${n} by one step, and it goes on from there`, () => {
      const story = scenario(n);
      const { world, at } = story;
      world.accept(at("B").id, { to: "lane", packets: [wishOf(story, "B", last)] });
      story.run(Limits.roundMsMin);
      expect(world.all.map(roundOf)).toEqual(world.all.map(() => step));
      nextRound(story);
      story.say("A", "hello");
      story.run(1_000);
      expect(story.chains()).toEqual(world.all.map(() => ["A: hello"]));
      expect(world.all.map(roundOf)).toEqual(world.all.map(() => step + 1));
    });
  }

  verifies("HIS-170", "counts as one for the horizon, whether it is a wish or a statement", () => {
    for (const word of [wishOf, statementOf]) {
      const story = byHand(7);
      hand(story, "A", "B", word(story, "B", step));
      hand(story, "A", "C", word(story, "C", step + 1));
      const { wishes, stated } = roundsOf(story, "A");
      const [b, c] = ["B", "C"].map((name) => story.at(name).id);
      expect(wishes).toEqual({ [b as string]: step, [c as string]: step });
      expect(stated).toEqual(word === wishOf ? {} : { [b as string]: step });
    }
  });

  verifies("HIS-170", "is believed no more than any other: signed by its sender, on the lane", () => {
    const story = byHand(2);
    const far = statementOf(story, "B", last);
    hand(story, "A", "B", { ...far, signature: statementOf(story, "B", last - 1).signature });
    hand(story, "A", "B", far, null);
    expect(roundsOf(story, "A").wishes).toEqual({});
    expect(story.notes()).toEqual(["A: a statement does not verify"]);
  });

  verifies("HIS-170", "takes a member to others who are far ahead with cause, step by step", () => {
    const story = byHand(4);
    const far = 3 * step - 10;
    const steps = [];
    for (let i = 0; i < 4; i++) {
      hand(story, "A", "B", statementOf(story, "B", far));
      hand(story, "A", "C", statementOf(story, "C", far));
      steps.push(roundsOf(story, "A").bound);
      wait(story, "A", Limits.followMs);
    }
    expect(steps).toEqual([step, 2 * step, far, far]);
  });
});

describe("a flood of words", () => {
  /** What A says when B wishes for every round up to `count`, each in an envelope of its own. */
  const flood = (story: Scenario, count: number): ReadonlyArray<string> => {
    for (let round = 1; round <= count; round++) hand(story, "A", "B", wishOf(story, "B", round));
    return kindsSaidBy(story, "A");
  };

  for (const n of [2, 3]) {
    verifies("HIS-172", `moves a member of ${n} once in a second, and then to where it leads`, () => {
      const story = byHand(n);
      const first = flood(story, 40);
      expect(first).toEqual(n === 2 ? ["wish", "statement_packet"] : ["wish", "wish"]);
      wait(story, "A", Limits.followMs - 1);
      expect(saidBy(story, "A")).toEqual([]);
      wait(story, "A", 1);
      const said = saidBy(story, "A");
      expect(wishesIn(said)).toEqual([40]);
      expect(statementsIn(said).map(({ statement }) => statement.round)).toEqual(n === 2 ? [40] : []);
      wait(story, "A", Limits.followMs);
      expect(roundsOf(story, "A").restsUntil).toBeNull();
    });
  }

  verifies("HIS-172", "holds nobody up once the anchor of its round is accepted, or at a restart", () => {
    const story = scenario(2);
    nextRound(story);
    nextRound(story);
    expect(story.world.all.map(roundOf)).toEqual([2, 2]);
    const other = byHand(2);
    flood(other, 2);
    expect(roundsOf(other, "A")).toMatchObject({ bound: 1 });
    down(other, "A");
    back(other, "A");
    expect(roundsOf(other, "A")).toMatchObject({ bound: 2 });
  });

  verifies("HIS-172", "nor when the clock was set back", () => {
    const story = byHand(2);
    flood(story, 2);
    story.world.now -= 3_600_000;
    wait(story, "A", 0);
    wait(story, "A", Limits.followMs);
    expect(roundsOf(story, "A")).toMatchObject({ bound: 2 });
  });
});

describe("before anything is certified", () => {
  /** An opening by B at A, which lets nobody in. */
  const refused = (n: number): Scenario => {
    const story = byHand(n, false);
    story.world.isTold = false;
    story.world.admits = ({ id }) => id !== story.at("A").id;
    hand(story, "A", "B", proposalOf(story, "B", "let me in"));
    expect(saidBy(story, "A").map(({ kind }) => kind)).toEqual(["refusal"]);
    return story;
  };

  for (const n of [2, 3]) {
    verifies(
      "HIS-173",
      `a member of ${n} says nothing of rounds that only those wish for whom it lets not begin`,
      () => {
        const story = refused(n);
        hand(story, "A", "B", wishOf(story, "B", 1));
        hand(story, "A", "B", statementOf(story, "B", 2));
        for (let i = 0; i < 10; i++) wait(story, "A", Limits.roundMsMax);
        expect(saidBy(story, "A")).toEqual([]);
        expect(roundsOf(story, "A")).toMatchObject({ bound: 0, wish: 0, stall: null });
      },
    );
  }

  verifies("HIS-173", "it takes part as soon as it lets one of them begin, or has work of its own", () => {
    for (const change of ["policy", "intent"]) {
      const story = refused(2);
      hand(story, "A", "B", wishOf(story, "B", 1));
      expect(saidBy(story, "A")).toEqual([]);
      if (change === "policy") story.world.admits = () => true;
      else story.say("A", "mine");
      wait(story, "A", 0);
      expect(roundsOf(story, "A").bound).toBe(1);
    }
  });

  verifies("HIS-173", "a third member's opening is a cause, whoever wishes", () => {
    const story = byHand(3, false);
    story.world.admits = (_, author) => author !== story.at("B").id;
    hand(story, "A", "B", wishOf(story, "B", 1));
    expect(wishesIn(saidBy(story, "A"))).toEqual([]);
    hand(story, "A", "C", proposalOf(story, "C", "hello"));
    expect(wishesIn(saidBy(story, "A"))).toEqual([1]);
  });
});

describe("a member without memory", () => {
  verifies(
    "HIS-174",
    "asks again who told of a round far ahead, and comes back with the later answer",
    () => {
      const story = byHand(3);
      const { world, at } = story;
      const { index } = at("B");
      const backup = at("B").disk;
      story.say("A", "one");
      story.run(1_000);
      world.disconnect(at("C").index);
      world.restore(index, backup);
      world.restart(index);
      hand(story, "B", "C", statementOf(story, "C", last), null);
      const page = {
        kind: "catch_up_page" as const,
        conversationId: world.members.conversationId,
        afterRecordHash: stateOf(story, "B").restored?.question ?? null,
        items: [],
        hasMore: false,
      };
      hand(story, "B", "C", page, null);
      story.run(10_000);
      expect(floorOf(stateOf(story, "B"), 3)).toBe(last);
      expect(stateOf(story, "B").restored).not.toBeNull();
      world.connect(at("C").index);
      story.run(600_000);
      expect(stateOf(story, "B").restored).toBeNull();
      expect(world.all.map(roundOf)).toEqual([1, 1, 1]);
      const post = story.say("B", "I am back");
      story.run(5_000);
      expect(story.outcome("B", post)).toBe("certified");
    },
  );

  verifies(
    ["HIS-174", "HIS-161"],
    "believes a far round all the same: it may be where the others are",
    () => {
      const story = byHand(2);
      const { index } = story.at("B");
      const backup = story.at("B").disk;
      for (let i = 0; i < step + 2; i++) nextRound(story);
      story.world.restore(index, backup);
      story.world.restart(index);
      story.run(600_000);
      expect(stateOf(story, "B").restored).toBeNull();
      expect(story.world.all.map(roundOf)).toEqual([step + 3, step + 3]);
    },
  );
});
