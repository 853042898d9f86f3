// Two members. The proposal carries the author's vote, the peer's two votes come back in one envelope: three envelopes a
// post. Where two proposals meet, each member may have two action votes in a slot, and still only one that counts as lock.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { type OpenRecord, subjectOf } from "@social-harness/protocol/conversation/State";
import * as Statement from "@social-harness/protocol/history/Statement";
import { actionVoteOf } from "@social-harness/protocol/history/VerifyRecord";
import { back, deaf, down, hand, hearing, proposalOf, runWithout, scenario } from "./Scenario.ts";

describe("a direct post", () => {
  verifies(["HIS-28", "HIS-31"], "takes three envelopes, the GENESIS like every other", () => {
    const story = scenario(2, false);
    story.say("A", "hello");
    story.run();
    expect(story.sent()).toEqual([
      "A => all: proposal_packet",
      "B -> A: vote_packet",
      "A => all: certified_notice",
    ]);
    story.say("B", "hello to you");
    story.run();
    expect(story.sent()).toEqual([
      "B => all: proposal_packet",
      "A -> B: vote_packet",
      "B => all: certified_notice",
    ]);
    expect(story.chains()).toEqual([
      ["A: hello", "B: hello to you"],
      ["A: hello", "B: hello to you"],
    ]);
    expect(story.world.nextWake()).toBeNull();
  });

  verifies("HIS-28", "carries its author's action vote, and without it is no proposal", () => {
    const story = scenario(2);
    const { actionVote: _, ...bare } = proposalOf(story, "A", "bare");
    hand(story, "B", "A", bare);
    expect(story.at("B").disk.state.open).toEqual([]);
    const whole = proposalOf(story, "A", "whole");
    hand(story, "B", "A", { ...whole, actionVote: proposalOf(story, "A", "bare").actionVote as never });
    expect(story.at("B").disk.state.open).toEqual([]);
    expect(story.notes()).toEqual([
      "B: a proposal's own action vote is missing, superfluous or does not verify",
      "B: a proposal's own action vote is missing, superfluous or does not verify",
    ]);
    hand(story, "B", "A", whole);
    expect(story.at("B").disk.state.slot.lock).toBe(story.at("B").disk.state.open[0]?.recordHash);
  });

  verifies(
    ["HIS-20", "HIS-41"],
    "of an author who is alone waits, is repeated, and is certified once",
    () => {
      const story = scenario(2, false);
      down(story, "B");
      const postId = story.say("A", "are you there?");
      story.run(3_600_000);
      expect(story.outcome("A", postId)).toBeNull();
      back(story, "B");
      story.run(600_000);
      expect(story.chain("B")).toEqual(["A: are you there?"]);
      expect(story.outcome("A", postId)).toBe("certified");
    },
  );
});

describe("two proposals at once", () => {
  for (const opened of [false, true]) {
    const where = opened ? "above a head" : "for GENESIS";
    verifies(["HIS-25", "HIS-23", "HIS-82"], `${where}: the loser goes next under the same PostId`, () => {
      const story = scenario(2, opened);
      const first = story.say("A", "one");
      const second = story.say("B", "two");
      story.run();
      expect(story.chains()).toEqual([
        ["A: one", "B: two"],
        ["A: one", "B: two"],
      ]);
      const { records } = story.at("A").disk;
      expect(records.slice(-2).map(({ recordCore }) => recordCore.action.postIntent.postId)).toEqual([
        first,
        second,
      ]);
      expect(story.outcome("A", first)).toBe("certified");
      expect(story.outcome("B", second)).toBe("certified");
      // B signed two action votes in the lost slot: the one in its own proposal, and its lock vote for the other.
      const height = opened ? 1 : 0;
      const votes = story
        .at("B")
        .disk.ownVotes.filter((vote) => vote.height === height && vote.vote === "action");
      expect(votes.map(({ inProposal }) => inProposal)).toEqual([true, false]);
      expect(new Set(votes.map(({ recordHash }) => recordHash)).size).toBe(2);
      expect(
        story.at("A").disk.ownVotes.filter((vote) => vote.height === height && vote.vote === "action"),
      ).toHaveLength(1);
    });
  }

  verifies(
    "HIS-23",
    "leave each member with one lock vote and one durability vote, whatever it is shown",
    () => {
      const story = scenario(2);
      const mine = story.say("B", "mine");
      hand(story, "B", "A", proposalOf(story, "A", "yours"), 1);
      hand(story, "B", "A", proposalOf(story, "A", "and yours"), 2);
      story.world.flush(1);
      const votes = story.at("B").disk.ownVotes;
      expect(votes.filter(({ vote, inProposal }) => vote === "action" && !inProposal)).toHaveLength(1);
      expect(votes.filter(({ vote }) => vote === "durability")).toHaveLength(1);
      expect(votes.find(({ inProposal }) => inProposal)?.recordHash).toBe(
        story.at("B").disk.state.proposal?.recordHash,
      );
      expect(story.outcome("B", mine)).toBeNull();
    },
  );
});

describe("two action certificates in one slot", () => {
  verifies("HIS-23", "are possible for a pair, and each member stages one of them alone", () => {
    const story = scenario(2);
    const { world } = story;
    const { conversationId } = world.members;
    story.say("B", "mine");
    const mine = story.at("B").disk.state.open[0] as OpenRecord;
    hand(story, "B", "A", proposalOf(story, "A", "yours"), 1);
    const staged = story.at("B").disk.state.slot.durabilityVote;
    expect(staged).not.toBe(mine.recordHash);
    // A saw the lane otherwise and voted for B's proposal.
    const { id, signer } = story.at("A");
    const vote = actionVoteOf(subjectOf(mine, conversationId), id);
    hand(
      story,
      "B",
      "A",
      {
        kind: "vote_packet",
        actionVotes: [{ ...vote, signature: Statement.sign(signer, vote) }],
        durabilityVotes: [],
        carryVotes: [],
      },
      null,
    );
    const { state, ownVotes } = story.at("B").disk;
    expect(Object.keys((state.open[0] as OpenRecord).action)).toHaveLength(2);
    expect(state.slot.durabilityVote).toBe(staged);
    expect(ownVotes.filter(({ vote: kind }) => kind === "durability")).toHaveLength(1);
  });
});

describe("what a pair loses on the way", () => {
  verifies("HIS-40", "the votes: the peer repeats its certificate after 3 s of silence", () => {
    const story = scenario(2);
    deaf(story, "A", "vote_packet");
    story.say("A", "hello");
    story.run(2_999);
    expect(story.chains()).toEqual([[], []]);
    hearing(story);
    story.sent();
    story.run(1);
    expect(story.sent()).toContain("B => all: action_certificate");
    expect(story.chains()).toEqual([["A: hello"], ["A: hello"]]);
  });

  verifies(["HIS-40", "HIS-42"], "the notice: the peer's repeated work tells that it misses it", () => {
    const story = scenario(2);
    deaf(story, "B", "certified_notice");
    story.say("A", "hello");
    story.run(2_000);
    expect(story.chains()).toEqual([["A: hello"], []]);
    hearing(story);
    story.run(1_500);
    expect(story.chains()).toEqual([["A: hello"], ["A: hello"]]);
  });

  verifies("HIS-83", "the author's process, between any two of its steps", () => {
    for (let deaths = 0; deaths < 12; deaths++) {
      const story = scenario(2, false);
      let left = deaths;
      story.world.dies = (member) => member.index === 0 && left-- === 0;
      const postId = story.world.submit(0, "hello");
      story.run(10);
      story.world.dies = () => false;
      back(story, "A");
      if (postId === null) story.say("A", "hello");
      story.run(600_000);
      expect(story.chains()).toEqual([["A: hello"], ["A: hello"]]);
    }
  });

  verifies("HIS-36", "a member folds the lane before it votes, and may lock while it folds", () => {
    const story = scenario(2);
    runWithout(story, ["B"]);
    story.say("A", "one");
    story.world.disconnect(1);
    story.run();
    story.world.connect(1);
    const member = story.at("B");
    expect(member.folded).toBe(false);
    story.world.lane.push(story.world.lane[0] as never);
    member.tail = 2;
    story.world.deliverLane(1);
    expect(member.disk.state.slot).toMatchObject({
      lock: member.disk.state.open[0]?.recordHash,
      actionVote: null,
    });
    expect(member.disk.ownVotes).toEqual([]);
    story.world.deliverLane(1);
    expect(member.folded).toBe(true);
    expect(member.disk.ownVotes.map(({ vote }) => vote)).toEqual(["action", "durability"]);
  });
});
