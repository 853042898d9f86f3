// A member is away, for a while or for long: the others go on as far as the quorum allows, and it comes back to everything.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Envelope } from "@social-harness/testkit/simulation/FoldWorld";
import { back, deaf, down, hearing, runWithout, scenario } from "./Scenario.ts";

describe("C72: one member of a group is away", () => {
  for (const n of [4, 5, 7, 10]) {
    verifies(
      ["HIS-52", "HIS-33"],
      `${n} members: the others certify without it, and it receives every record when it returns`,
      () => {
        const story = scenario(n);
        const last = story.name(story.world.members.ids[n - 1] as never);
        down(story, last);
        for (let i = 1; i <= 6; i++) story.say(i % 2 === 0 ? "A" : "B", String(i));
        story.run(60_000);
        const chain = story.chain("A");
        expect(chain).toHaveLength(6);
        expect(story.chain(last)).toEqual([]);
        back(story, last);
        story.run(0);
        expect(story.chain(last)).toEqual(chain);
        // It took part in nothing that was over.
        expect(story.at(last).disk.ownVotes).toEqual([]);
        expect(story.at(last).disk.pending).toHaveLength(6);
        expect(story.world.nextWake()).toBeNull();
      },
    );
  }

  verifies(
    ["HIS-52", "HIS-84"],
    "and with one too many away the post waits, and is certified when one returns",
    () => {
      const story = scenario(4);
      down(story, "C");
      down(story, "D");
      const postId = story.say("A", "hello");
      story.run(3_600_000);
      expect(story.outcome("A", postId)).toBeNull();
      back(story, "C");
      story.run(600_000);
      expect(story.outcome("A", postId)).toBe("certified");
      expect(story.chain("C")).toEqual(["A: hello"]);
      expect(story.chain("D")).toEqual([]);
    },
  );
});

describe("a member that comes back into an open slot", () => {
  verifies(
    ["HIS-36", "HIS-52"],
    "folds to the tail, then votes once, and its vote completes the post",
    () => {
      const story = scenario(4);
      down(story, "D");
      runWithout(story, ["C"], 0);
      story.world.disconnect(2);
      story.say("A", "hello");
      story.run(1_000);
      expect(story.chain("A")).toEqual([]);
      back(story, "D");
      story.run(0);
      expect(story.at("D").disk.ownVotes.map(({ vote }) => vote)).toEqual(["action", "durability"]);
      expect(["A", "B", "D"].map((name) => story.chain(name))).toEqual([
        ["A: hello"],
        ["A: hello"],
        ["A: hello"],
      ]);
    },
  );

  verifies("HIS-83", "does not sign again what it signed before it went", () => {
    const story = scenario(3);
    story.say("A", "hello");
    deaf(story, "A", "vote_packet");
    story.run(0);
    const before = story.at("B").disk.ownVotes;
    expect(before).toHaveLength(1);
    down(story, "B");
    back(story, "B");
    hearing(story);
    story.run(60_000);
    expect(story.at("B").disk.ownVotes.map(({ vote }) => vote)).toEqual(["action", "durability"]);
    expect(story.at("B").disk.ownVotes[0]).toEqual(before[0]);
    expect(story.chains()).toEqual([["A: hello"], ["A: hello"], ["A: hello"]]);
  });

  verifies("HIS-83", "nor its durability vote, though the certificate comes again", () => {
    const story = scenario(3);
    const { world } = story;
    story.say("A", "hello");
    while (!story.at("A").disk.state.slot.certificateSent) {
      for (const { index } of world.all) {
        while (world.flush(index) || world.deliverLane(index));
        while (world.deliverFromBag(index, 0));
      }
    }
    world.flush(0);
    deaf(story, "A", "vote_packet");
    while (world.deliverLane(1));
    const before = story.at("B").disk.ownVotes;
    expect(before.map(({ vote }) => vote)).toEqual(["action", "durability"]);
    for (let i = 0; i < 3; i++) {
      down(story, "B");
      back(story, "B");
      world.redeliver(1, world.lane.at(-1) as Envelope);
      expect(story.at("B").disk.ownVotes).toEqual(before);
    }
    hearing(story);
    story.run(60_000);
    expect(story.chains()).toEqual([["A: hello"], ["A: hello"], ["A: hello"]]);
  });

  verifies("HIS-20", "proposes what it persisted before it lost its connection", () => {
    const story = scenario(4);
    story.world.disconnect(1);
    const postId = story.say("B", "from the train");
    expect(story.at("B").disk.state.proposal).toBeNull();
    story.run(60_000);
    story.world.connect(1);
    story.run(0);
    expect(story.outcome("B", postId)).toBe("certified");
  });
});
