// A round that its lying leader split: members stand under anchors of one round that exclude one another.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Limits from "@social-harness/protocol/Limits";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import { byHand, down, hand, hearing, type Scenario } from "./Scenario.ts";
import { reanchorOf, roundOf, statementOf, statementWith } from "./RoundStories.ts";

const others = ["A", "C", "D"];

/**
 * Four members wait for the anchor of round 1. B, who leads it and is never heard again, gave C one that stands on A's newest
 * record, D one that carries that record, and A none: each is shown by one member alone, so A may believe neither.
 */
const split = (): Scenario => {
  const story = byHand(4);
  story.world.loses = (_, packets, to) =>
    to.id !== story.at("A").id && packets.some(({ kind }) => kind === "certified_notice");
  story.say("A", "one");
  story.run(1_000);
  const record = story.at("A").disk.records.at(-1);
  if (record === undefined) throw new Error("A certified its post");
  down(story, "B");
  const [b, c, d] = ["B", "C", "D"].map((name) => statementWith(story, name, 1, record));
  if (b === undefined || c === undefined || d === undefined) throw new Error("three statements");
  for (const name of others) story.world.feed(story.at(name).index, { kind: "wish-round" });
  story.run(0);
  const above = reanchorOf(story, [statementOf(story, "A", 1), c, d]);
  const carrying = reanchorOf(story, [b, c, d]);
  expect(Reanchor.hashOf(above)).not.toBe(Reanchor.hashOf(carrying));
  hand(story, "C", "B", above);
  hand(story, "D", "B", carrying);
  hearing(story);
  return story;
};

describe("a round that its leader split", () => {
  verifies("HIS-90", "is left by all for a member that finds no anchor of it that it can accept", () => {
    const story = split();
    const post = story.say("A", "is anybody there?");
    story.run(4 * Limits.roundMsMin);
    expect(story.outcome("A", post)).toBe("certified");
    expect(others.map((name) => roundOf(story.at(name)))).toEqual([2, 2, 2]);
    expect(others.map((name) => story.chain(name))).toEqual(
      others.map(() => ["A: one", "A: is anybody there?"]),
    );
    expect(story.world.nextWake()).toBeNull();
  });

  verifies("HIS-90", "is not left for one that states it once or twice more, nor for ever", () => {
    const story = byHand(4);
    for (const { index } of story.world.all) story.world.feed(index, { kind: "wish-round" });
    story.run(0);
    const again = statementOf(story, "D", 1);
    for (let times = 1; times < Limits.restatedMax; times++) hand(story, "A", "D", again);
    expect(story.at("A").disk.state.rounds.stall).toBeNull();
    hand(story, "A", "D", again);
    expect(story.at("A").disk.state.rounds.stall).not.toBeNull();
    story.run(3_600_000);
    expect(story.world.nextWake()).toBeNull();
    expect(story.world.all.map(roundOf)).toEqual([1, 1, 1, 1]);
    expect(story.at("A").disk.state.rounds.restated).toEqual({});
  });
});
