// Nothing moves: members repeat what they signed, and when the collector is gone the others finish its work.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Limits from "@social-harness/protocol/Limits";
import { back, deaf, down, hearing, scenario, type Scenario } from "./Scenario.ts";

/** The times, in milliseconds from now, at which a member's envelopes of a kind leave while time passes. */
const timesOf = (story: Scenario, from: string, kind: string, ms: number): ReadonlyArray<number> => {
  const times: Array<number> = [];
  const { world } = story;
  const start = world.now;
  world.onAccepted.push((envelope) => {
    if (envelope.from === story.at(from).id && envelope.packets.some((packet) => packet.kind === kind))
      times.push(world.now - start);
  });
  story.run(ms);
  return times;
};

describe("silence", () => {
  verifies("HIS-40", "is broken after 3 s, again at doubling intervals, and at last every 5 minutes", () => {
    const story = scenario(3);
    down(story, "C");
    story.say("A", "hello");
    story.run();
    const expected: Array<number> = [];
    for (
      let at = 0, step = Limits.silenceMsMin;
      at + step < 1_800_000;
      step = Math.min(step * 2, Limits.silenceMsMax)
    ) {
      at += step;
      expected.push(at);
    }
    expect(timesOf(story, "A", "proposal_packet", 1_799_999)).toEqual(expected);
    expect(expected.slice(-2).reduce((a, b) => b - a)).toBe(Limits.silenceMsMax);
  });

  verifies(
    "HIS-40",
    "is broken by the author with its proposal and vote, by the others with their votes",
    () => {
      const story = scenario(3);
      down(story, "C");
      story.say("A", "hello");
      story.run();
      story.sent();
      story.run(Limits.silenceMsMin);
      expect(story.sent()).toEqual(["A => all: proposal_packet, vote_packet", "B => all: vote_packet"]);
    },
  );

  verifies("HIS-40", "begins anew with every step forward", () => {
    const story = scenario(5);
    for (const name of ["C", "D", "E"]) down(story, name);
    story.say("A", "hello");
    story.run(100_000);
    expect(story.at("A").disk.state.silence?.intervalMs).toBeGreaterThan(20_000);
    // One vote more is not enough, and yet a step.
    back(story, "C");
    story.run();
    expect(story.at("A").disk.state.silence).toEqual({
      at: story.world.now + Limits.silenceMsMin,
      intervalMs: Limits.silenceMsMin,
    });
    expect(story.chain("A")).toEqual([]);
  });

  verifies("HIS-40", "means nothing to a member that is not connected, and begins when it is again", () => {
    const story = scenario(3);
    story.say("A", "hello");
    story.world.flush(0);
    story.world.disconnect(0);
    story.run(3_600_000);
    expect(story.at("A").disk.outbox).toEqual([]);
    const before = story.world.now;
    story.world.connect(0);
    expect(story.world.lane.length).toBeGreaterThan(1);
    while (!story.at("A").folded) story.world.deliverLane(0);
    expect(story.at("A").disk.state.silence).toEqual({
      at: before + Limits.silenceMsMin,
      intervalMs: Limits.silenceMsMin,
    });
  });

  verifies("HIS-40", "forgets the timers of an earlier process", () => {
    const story = scenario(3);
    down(story, "C");
    story.say("A", "hello");
    story.run(200_000);
    expect(story.at("A").disk.state.silence?.intervalMs).toBeGreaterThan(Limits.silenceMsMin);
    down(story, "A");
    back(story, "A");
    expect(story.at("A").disk.state.silence?.intervalMs ?? Limits.silenceMsMin).toBe(Limits.silenceMsMin);
  });

  verifies("HIS-59", "is not stretched by a clock that was set back", () => {
    const story = scenario(3);
    down(story, "C");
    story.at("A").clockOffsetMs = 86_400_000;
    story.say("A", "hello");
    story.run();
    story.at("A").clockOffsetMs = 0;
    // Any event tells the fold the true time.
    story.world.feed(0, { kind: "tick" });
    expect(story.at("A").disk.state.silence?.at).toBeLessThanOrEqual(story.world.now + Limits.silenceMsMin);
  });
});

describe("a collector that dies after its action certificate", () => {
  for (const n of [4, 7, 10]) {
    verifies(
      ["HIS-42", "HIS-52", "HIS-81"],
      `in a group of ${n}: the others finish, and it learns of it when it returns`,
      () => {
        const story = scenario(n);
        story.say("A", "hello");
        while (!story.at("A").disk.state.slot.certificateSent) {
          for (const { index } of story.world.all) {
            story.world.flush(index);
            story.world.deliverLane(index);
            if (index === 0) story.world.deliverFromBag(0, 0);
          }
        }
        story.world.flush(0);
        down(story, "A");
        story.sent();
        story.run(Limits.silenceMsMin - 1);
        expect(story.chain("B")).toEqual([]);
        story.run(10_000);
        const others = story.world.all.slice(1).map(({ id }) => story.chain(story.name(id)));
        expect(others).toEqual(others.map(() => ["A: hello"]));
        // One notice tells all: who is later in the membership sees it and keeps still.
        const sent = story.sent();
        expect(sent.filter((line) => line.includes("certified_notice"))).toEqual([
          "B => all: certified_notice",
        ]);
        // Every member's vote is in the lane, so nobody answers anybody.
        expect(sent.filter((line) => line.includes(" -> B") || line.includes(" -> C"))).toEqual([]);
        back(story, "A");
        story.run(1_000);
        expect(story.chain("A")).toEqual(["A: hello"]);
        story.run(60_000);
        expect(story.world.nextWake()).toBeNull();
      },
    );
  }

  verifies("HIS-42", "the spread waits 250 ms for each place in the membership", () => {
    const story = scenario(4);
    story.say("A", "hello");
    const { world } = story;
    for (const index of [0, 1, 2, 3]) while (world.flush(index) || world.deliverLane(index));
    while (world.deliverFromBag(0, 0));
    world.flush(0);
    for (const index of [1, 2, 3]) while (world.deliverLane(index) || world.flush(index));
    down(story, "A");
    story.run(Limits.silenceMsMin);
    const spread = [1, 2, 3].map((index) => world.all[index]?.disk.state.spread?.at);
    // B's turn came first: its notice is out, and the others have seen it.
    expect(spread).toEqual([
      world.now + Limits.spreadStepMs,
      world.now + 2 * Limits.spreadStepMs,
      world.now + 3 * Limits.spreadStepMs,
    ]);
    story.run(Limits.spreadStepMs);
    expect([1, 2, 3].map((index) => world.all[index]?.disk.state.spread)).toEqual([null, null, null]);
  });

  verifies(
    ["HIS-42", "HIS-85", "HIS-91"],
    "but one that dies before it is left by the others in a new round",
    () => {
      const story = scenario(4);
      story.say("A", "hello");
      story.world.flush(0);
      story.world.deliverLane(0);
      down(story, "A");
      const waiting = story.say("B", "and now?");
      story.run(Limits.roundMsMin - 1);
      expect(story.chains()).toEqual([[], [], [], []]);
      story.run(60_000);
      expect(story.outcome("B", waiting)).toBe("certified");
      for (const name of ["B", "C", "D"]) expect(story.chain(name)).toEqual(["B: and now?"]);
      expect(story.at("B").disk.state.anchor?.round).toBe(1);
      back(story, "A");
      story.run(600_000);
      expect(story.chains()).toEqual(Array.from({ length: 4 }, () => ["B: and now?", "A: hello"]));
    },
  );
});

describe("a lost notice", () => {
  for (const n of [3, 4]) {
    verifies(
      ["HIS-42", "HIS-41"],
      `in a group of ${n} comes again when the member that misses it repeats its work`,
      () => {
        const story = scenario(n);
        deaf(story, "B", "certified_notice");
        story.say("A", "hello");
        story.run(1_000);
        expect(story.chain("B")).toEqual([]);
        expect(story.chain("C")).toEqual(["A: hello"]);
        hearing(story);
        story.sent();
        story.run(5_000);
        expect(story.chain("B")).toEqual(["A: hello"]);
        expect(story.sent().filter((line) => line.includes("certified_notice"))).toEqual([
          "A => all: certified_notice",
        ]);
      },
    );
  }

  verifies("HIS-58", "is not kept away by a false one", () => {
    const story = scenario(4);
    deaf(story, "B", "certified_notice");
    story.say("A", "hello");
    story.run(2_999);
    hearing(story);
    // D lies whenever a notice is due: it names the record and shows nothing.
    const { world } = story;
    world.onAccepted.push(({ from, packets }) => {
      const [packet] = packets;
      if (from !== story.at("B").id || packet?.kind !== "action_certificate") return;
      const lie = {
        kind: "certified_notice" as const,
        conversationId: packet.conversationId,
        recordHash: packet.recordHash,
        height: packet.height,
        durabilityAnchorHash: packet.anchorHash,
        actionSignatures: packet.signatures.map((entry) => ({
          ...entry,
          signature: packet.durabilityVote.signature,
        })),
        durabilityVotes: [packet.durabilityVote],
      };
      world.accept(story.at("D").id, { to: "lane", packets: [lie] });
    });
    story.run(5_000);
    expect(story.chain("B")).toEqual(["A: hello"]);
  });
});
