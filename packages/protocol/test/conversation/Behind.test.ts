// Evidence of something that a member cannot commit: it asks, believes only what proves itself, and is never kept from its
// other work by a claim.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { certifiedBy, genesisAnchorOf } from "@social-harness/testkit/simulation/Certify";
import type { Packet, PacketOf } from "@social-harness/protocol/conversation/Packet";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import type * as Record from "@social-harness/protocol/history/Record";
import * as Limits from "@social-harness/protocol/Limits";
import {
  back,
  claim,
  deaf,
  down,
  hand,
  hearing,
  missed,
  proposalOf,
  scenario,
  type Scenario,
  strangeRecordHash,
} from "./Scenario.ts";

describe("a member that missed posts", () => {
  verifies(
    ["HIS-43", "HIS-45", "HIS-52"],
    "asks who shows it the next one, and commits them all in order",
    () => {
      const story = missed(3);
      story.say("B", "4");
      story.run(0);
      expect(story.sent()).toContain("D -> B: catch_up_request");
      expect(story.chain("D")).toEqual(["A: 1", "A: 2", "A: 3", "B: 4"]);
      expect(story.at("D").disk.pending).toHaveLength(4);
      expect(story.at("D").disk.state.behind).toBeNull();
    },
  );

  verifies("HIS-43", "is marked in the transaction that takes the evidence", () => {
    const story = missed(1);
    story.say("B", "2");
    story.world.flush(1);
    story.world.deliverLane(3);
    const { disk } = story.at("D");
    expect(disk.cursor).toBe(story.world.lane.length);
    expect(disk.state.behind).toMatchObject({
      target: { height: 1 },
      askAt: story.world.now + Limits.catchUpMsMin,
    });
    expect(disk.outbox.map(({ to }) => to)).toEqual([story.at("B").id]);
  });

  verifies("HIS-44", "asks the others in turn, at 3 s doubling to 60 s, when nobody answers", () => {
    const story = missed(1);
    const asked: Array<string> = [];
    const start = story.world.now;
    story.world.onAccepted.push(({ from, packets }, to) => {
      if (from === story.at("D").id && packets.some(({ kind }) => kind === "catch_up_request"))
        asked.push(`${to === "lane" ? "all" : story.name(to)} ${(story.world.now - start) / 1_000}`);
    });
    deaf(story, "D", "catch_up_page");
    hand(story, "D", "B", claim(story, 7), null);
    story.run(200_000);
    expect(asked).toEqual(["B 0", "C 3", "A 9", "B 21", "C 45", "A 93", "B 153"]);
    down(story, "D");
    back(story, "D");
    asked.length = 0;
    const again = story.world.now - start;
    story.run(5_000);
    expect(asked).toEqual([`C ${again / 1_000}`, `A ${again / 1_000 + 3}`]);
  });

  verifies("HIS-44", "asks when it is connected and has folded the lane, not before", () => {
    const story = missed(2);
    story.world.disconnect(3);
    story.say("B", "3");
    story.run(0);
    story.sent();
    story.world.connect(3);
    const { tail } = story.at("D");
    while (story.at("D").disk.cursor < tail - 1) story.world.deliverLane(3);
    expect(story.at("D").disk.state.behind).toMatchObject({ askAt: null });
    expect(story.at("D").disk.outbox).toEqual([]);
    story.run(0);
    expect(story.chain("D")).toEqual(["A: 1", "A: 2", "B: 3"]);
  });

  verifies(
    ["HIS-43", "HIS-52"],
    "does not hold up a post that needs its vote: a proposal above its head is evidence enough",
    () => {
      const story = missed(2);
      down(story, "C");
      const postId = story.say("B", "needs D");
      story.run(0);
      expect(story.outcome("B", postId)).toBe("certified");
      expect(story.chain("D")).toEqual(["A: 1", "A: 2", "B: needs D"]);
    },
  );
});

describe("a member that lacks one core", () => {
  /** D hears everything of a post but its proposal. */
  const withoutCore = (n: number): Scenario => {
    const story = scenario(n);
    deaf(story, "D", "proposal_packet");
    return story;
  };

  verifies(
    ["HIS-43", "HIS-56", "HIS-30"],
    "fetches it by its hash, with the certificate kept, and stages it in time to be counted",
    () => {
      const story = withoutCore(4);
      down(story, "C");
      // A quorum of three needs D's durability vote: B's action vote, A's own and C's from before it went.
      back(story, "C");
      const postId = story.say("A", "hello");
      for (const index of [0, 1, 2]) while (story.world.flush(index) || story.world.deliverLane(index));
      down(story, "C");
      story.run(0);
      expect(story.sent()).toEqual(
        expect.arrayContaining([
          "D -> A: catch_up_request, record_request",
          "A -> D: catch_up_page",
          "A -> D: record_response",
          "D -> A: vote_packet",
        ]),
      );
      expect(story.outcome("A", postId)).toBe("certified");
      expect(story.chain("D")).toEqual(["A: hello"]);
      expect(story.at("D").disk.ownVotes.map(({ vote }) => vote)).toEqual(["durability"]);
      expect(story.at("D").disk.state.behind).toBeNull();
    },
  );

  verifies(
    ["HIS-47", "HIS-44"],
    "asks on for it when the collector is gone, and any who staged it answers",
    () => {
      const story = withoutCore(4);
      const postId = story.say("A", "hello");
      for (const index of [0, 1, 2]) while (story.world.flush(index) || story.world.deliverLane(index));
      while (story.world.deliverFromBag(0, 0));
      story.world.flush(0);
      down(story, "A");
      story.run(20_000);
      expect(story.chain("B")).toEqual(["A: hello"]);
      expect(story.chain("D")).toEqual(["A: hello"]);
      back(story, "A");
      story.run(0);
      expect(story.outcome("A", postId)).toBe("certified");
    },
  );

  verifies("HIS-56", "needs no answer when the author repeats the proposal", () => {
    const story = withoutCore(4);
    deaf(story, "D", "record_response", "catch_up_page");
    story.say("A", "hello");
    for (const index of [0, 1, 2]) while (story.world.flush(index) || story.world.deliverLane(index));
    down(story, "C");
    while (story.world.deliverFromBag(0, 0));
    story.run(100);
    expect(story.at("D").disk.state.behind?.missing?.recordHash).toBe(
      story.at("A").disk.state.slot.durabilityVote,
    );
    hearing(story);
    deaf(story, "D", "record_response", "catch_up_page", "action_certificate");
    const [proposal] = story.world.lane[0]?.packets ?? [];
    hand(story, "D", "A", proposal as Packet);
    expect(story.at("D").disk.state.slot.durabilityVote).toBe(story.at("A").disk.state.slot.durabilityVote);
    expect(story.at("D").disk.state.behind).toBeNull();
    // The vote goes to the member that showed the certificate.
    expect(story.at("D").disk.outbox.at(-1)).toMatchObject({ to: story.at("A").id });
  });

  verifies(
    "HIS-43",
    "votes for nothing else in a slot that it knows to be decided, and proposes nothing there",
    () => {
      const story = withoutCore(4);
      deaf(story, "D", "record_response", "catch_up_page");
      story.say("A", "hello");
      story.world.loses = (_, packets, to) =>
        to.id === story.at("D").id && packets.some(({ kind }) => kind !== "action_certificate");
      story.run(0);
      expect(story.at("D").disk.state.behind?.missing).not.toBeNull();
      story.say("D", "mine");
      expect(story.at("D").disk.state.proposal).toBeNull();
      hand(story, "D", "C", proposalOf(story, "C", "late", { near: "D" }));
      expect(story.at("D").disk.state.slot.lock).toBeNull();
      hearing(story);
      story.run(60_000);
      expect(story.chains()).toEqual(Array.from({ length: 4 }, () => ["A: hello", "D: mine"]));
    },
  );

  verifies("HIS-56", "lets no later packet change what a proven certificate named", () => {
    const story = withoutCore(4);
    deaf(story, "D", "record_response", "catch_up_page", "certified_notice");
    story.say("A", "hello");
    story.run(0);
    const { missing } = story.at("D").disk.state.behind ?? {};
    const certificate = story.world.lane
      .flatMap(({ packets }) => packets)
      .find(({ kind }) => kind === "action_certificate") as PacketOf<"action_certificate">;
    hand(story, "D", "B", { ...certificate, height: certificate.height + 7 });
    hand(story, "D", "B", { ...certificate, previousRecordHash: strangeRecordHash });
    expect(story.at("D").disk.state.behind?.missing).toEqual(missing);
    hearing(story);
    story.run(60_000);
    expect(story.chain("D")).toEqual(["A: hello"]);
  });

  verifies("HIS-47", "takes no other core for it, and none that it did not ask for", () => {
    const story = withoutCore(4);
    deaf(story, "D", "record_response", "catch_up_page", "certified_notice");
    story.say("A", "hello");
    story.run(0);
    const { missing } = story.at("D").disk.state.behind ?? {};
    const record = story.at("A").disk.records[1] as HistoryRecord;
    expect(missing?.recordHash).toBe(record.recordHash);
    const response = (recordCore: Record.RecordCore): PacketOf<"record_response"> => ({
      kind: "record_response",
      recordCore,
      routerAnchor: genesisAnchorOf(story.world),
      actionSignatures: record.actionSignatures,
    });
    const other = proposalOf(story, "C", "other", { near: "D" }).recordCore;
    hand(story, "D", "C", response(other), null);
    hand(
      story,
      "D",
      "C",
      response({ ...record.recordCore, actionHash: other.actionHash } as Record.PostCore),
      null,
    );
    expect(story.at("D").disk.state.open).toEqual([]);
    expect(story.notes().filter((note) => note.startsWith("D"))).toHaveLength(2);
    hand(story, "B", "C", response(other), null);
    expect(story.at("B").disk.state.open).toEqual([]);
    hand(story, "D", "C", response(record.recordCore), null);
    expect(story.at("D").disk.state.slot.durabilityVote).toBe(record.recordHash);
  });
});

describe("a claim", () => {
  verifies("HIS-55", "of a far record stops no vote and no proposal", () => {
    const story = scenario(4);
    for (const name of ["A", "B", "C", "D"]) hand(story, name, "D", claim(story, 1_000_000), null);
    expect(story.world.all.map(({ disk }) => disk.state.behind?.target?.height)).toEqual(
      Array.from({ length: 4 }, () => 1_000_000),
    );
    const postId = story.say("A", "hello");
    story.run(0);
    expect(story.outcome("A", postId)).toBe("certified");
    expect(story.chains()).toEqual(Array.from({ length: 4 }, () => ["A: hello"]));
  });

  verifies(
    "HIS-57",
    "that nobody can make good is given up, and not before it was asked about for long",
    () => {
      const story = scenario(4);
      hand(story, "A", "D", claim(story, 9), null);
      story.run(40_000);
      expect(story.at("A").disk.state.behind).not.toBeNull();
      story.run(200_000);
      expect(story.at("A").disk.state.behind).toBeNull();
      expect(story.world.nextWake()).toBeNull();
    },
  );

  verifies("HIS-55", "in a certificate counts only with a quorum of true votes", () => {
    const story = scenario(4);
    const packet = proposalOf(story, "B", "hello");
    const record = certifiedBy(story.world.all, packet.recordCore, genesisAnchorOf(story.world));
    const { action, actionHash, anchorHash } = packet.recordCore;
    const certificate = (signatures: HistoryRecord["actionSignatures"]): PacketOf<"action_certificate"> => ({
      kind: "action_certificate",
      conversationId: story.world.members.conversationId,
      recordHash: record.recordHash,
      actionHash,
      height: action.height,
      previousRecordHash: action.previousRecordHash,
      anchorHash,
      signatures,
      durabilityVote: record.durabilityVotes[0] as never,
    });
    hand(story, "A", "D", certificate(record.actionSignatures.slice(0, 2)));
    hand(story, "A", "D", certificate(record.durabilityVotes));
    hand(story, "A", "D", { ...certificate(record.actionSignatures), height: action.height + 1 });
    expect(story.at("A").disk.state.behind).toBeNull();
    hand(story, "A", "D", certificate(record.actionSignatures.slice(0, 3)));
    expect(story.at("A").disk.state.behind?.missing?.recordHash).toBe(record.recordHash);
  });
});

describe("a gap at the Router", () => {
  verifies(
    "HIS-48",
    "is asked about, heals from a peer, and ends when enough members know of nothing more",
    () => {
      const story = missed(2);
      story.world.feed(3, { kind: "gap" });
      expect(story.at("D").disk.state.behind).toMatchObject({ gap: true, target: null });
      story.run(0);
      expect(story.chain("D")).toEqual(["A: 1", "A: 2"]);
      story.run(60_000);
      expect(story.at("D").disk.state.behind).toBeNull();
    },
  );

  verifies(["HIS-48", "HIS-55"], "keeps nobody from its work meanwhile", () => {
    const story = scenario(2);
    down(story, "B");
    story.world.feed(0, { kind: "gap" });
    story.say("A", "hello");
    expect(story.at("A").disk.state.proposal).not.toBeNull();
    back(story, "B");
    story.run(60_000);
    expect(story.chains()).toEqual([["A: hello"], ["A: hello"]]);
    expect(story.at("A").disk.state.behind).toBeNull();
  });
});
