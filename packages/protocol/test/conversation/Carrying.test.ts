// The record that a round carries: carried, made durable and certified before anything else, with the old certificate.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Record from "@social-harness/protocol/history/Record";
import { carryVoteOf, subjectOf } from "@social-harness/protocol/history/VerifyRecord";
import { byHand, hand, proposalOf, scenario, type Scenario } from "./Scenario.ts";
import {
  carryVotesOf,
  nextRound,
  preparedBy,
  reanchorOf,
  responseOf,
  roundOf,
  saidBy,
  statementOf,
  statementsIn,
  statementWith,
  wishOf,
} from "./RoundStories.ts";

/** Everybody staged A's post, and nobody learns that the others did. */
const staged = (n: number): Scenario => {
  const story = scenario(n);
  story.say("A", "carried");
  story.world.loses = (_, packets) =>
    packets.some((packet) => packet.kind === "vote_packet" && packet.durabilityVotes.length > 0);
  story.run(0);
  story.world.loses = () => false;
  expect(story.chains()).toEqual(story.world.all.map(() => []));
  return story;
};

describe("a prepared record", () => {
  for (const n of [2, 3, 4, 7]) {
    verifies("HIS-77", `of ${n} members is certified in the next round, under both anchors`, () => {
      const story = staged(n);
      story.say("B", "after it");
      nextRound(story);
      story.run(10_000);
      expect(story.chains()).toEqual(story.world.all.map(() => ["A: carried", "B: after it"]));
      for (const { disk } of story.world.all) {
        const [, carried, after] = disk.records as [HistoryRecord, HistoryRecord, HistoryRecord];
        expect(carried.routerAnchor.kind).toBe("genesis_anchor");
        expect(carried.durabilityAnchor?.body).toMatchObject({
          round: 1,
          carriedRecordHash: carried.recordHash,
          baseRecordHash: disk.records[0]?.recordHash,
        });
        expect(after).toMatchObject({ routerAnchor: { body: { round: 1 } }, durabilityAnchor: null });
        const own = disk.ownVotes
          .filter(({ round }) => round === 1)
          .map(({ vote, height }) => `${vote} ${height}`);
        expect(own.slice(0, 2)).toEqual(["carry 1", "durability 1"]);
      }
    });
  }

  verifies("HIS-77", "is carried from round to round while nobody makes it durable", () => {
    const story = staged(4);
    story.world.loses = (_, packets) =>
      packets.some((packet) => packet.kind === "vote_packet" && packet.durabilityVotes.length > 0);
    for (let round = 1; round <= 3; round++) {
      nextRound(story);
      const { anchor, open } = story.at("C").disk.state;
      expect(anchor?.carried).toBe(open[0]?.recordHash);
      expect(open[0]?.carry?.round).toBe(round);
    }
    story.world.loses = () => false;
    nextRound(story);
    story.run(1_000);
    expect(story.chains()).toEqual(story.world.all.map(() => ["A: carried"]));
    expect(story.at("D").disk.records[1]?.durabilityAnchor?.body.round).toBe(4);
  });

  verifies("HIS-77", "that one member certified in the old round is certified for all in the new one", () => {
    const story = scenario(4);
    story.say("A", "carried");
    story.world.loses = (_, packets, to) =>
      packets.some(({ kind }) => kind === "certified_notice") && to.id !== story.at("A").id;
    story.run(0);
    story.world.loses = () => false;
    expect(story.chains()).toEqual([["A: carried"], [], [], []]);
    nextRound(story);
    story.run(10_000);
    expect(story.chains()).toEqual(story.world.all.map(() => ["A: carried"]));
  });
});

describe("carry votes", () => {
  for (const [n, quorum] of [
    [2, 2],
    [4, 3],
    [7, 5],
  ] as const) {
    verifies("HIS-77", `of ${quorum} in ${n} members make a durability vote, and fewer make none`, () => {
      const story = byHand(n);
      const names = story.world.all.map(({ id }) => story.name(id));
      const record = preparedBy(story, "B", "carried", names);
      const completed = reanchorOf(
        story,
        names.slice(0, quorum).map((name) => statementWith(story, name, 1, record)),
      );
      for (const name of names) {
        hand(story, name, "B", completed);
        hand(story, name, "B", responseOf(record), null);
      }
      const votes = names.map((name) => saidBy(story, name).find(({ kind }) => kind === "vote_packet"));
      expect(votes.slice(1)).toMatchObject(
        names.slice(1).map(() => ({ carryVotes: [{ height: 1 }], durabilityVotes: [] })),
      );
      const durable = (): string | null => story.at("A").disk.state.slot.durabilityVote;
      for (let i = 1; i < quorum; i++) {
        expect(durable()).toBeNull();
        hand(story, "A", names[i] as string, votes[i] as never);
      }
      expect(durable()).toBe(record.recordHash);
      expect(story.at("A").disk.ownVotes.map(({ vote }) => vote)).toEqual(["carry", "durability"]);
      for (let i = 1; i < n; i++) hand(story, "A", names[i] as string, votes[i] as never);
      expect(story.at("A").disk.ownVotes).toHaveLength(2);
    });
  }

  verifies(
    "HIS-77",
    "under another anchor, for another record or by another than their signer count for nothing",
    () => {
      const story = byHand(4);
      const names = ["A", "B", "C", "D"];
      const record = preparedBy(story, "B", "carried", names);
      const other = preparedBy(story, "C", "other", names);
      const completed = reanchorOf(
        story,
        names.slice(1).map((name) => statementWith(story, name, 1, record)),
      );
      hand(story, "A", "B", completed);
      hand(story, "A", "B", responseOf(record), null);
      hand(story, "B", "B", completed);
      hand(story, "B", "C", responseOf(record), null);
      const vote = saidBy(story, "B").find((packet) => packet.kind === "vote_packet");
      const [true_] = vote?.carryVotes ?? [];
      if (true_ === undefined) throw new Error("B carries");
      const { carrying } = story.at("A").disk.state;
      for (const change of [
        { anchorHash: record.recordCore.anchorHash },
        { recordHash: other.recordHash },
        { signerAgentId: story.at("C").id },
      ]) {
        const packet = {
          kind: "vote_packet" as const,
          actionVotes: [],
          durabilityVotes: [],
          carryVotes: [{ ...true_, ...change }],
        };
        hand(story, "A", "B", packet);
        expect(story.at("A").disk.state.carrying).toEqual(carrying);
      }
    },
  );

  verifies(["HIS-73", "HIS-77"], "are not forgotten when the fetched record is proposed once more", () => {
    const story = byHand(4);
    const record = preparedBy(story, "D", "carried", ["A", "B", "D"]);
    const other = preparedBy(story, "B", "of round 1", ["B", "C", "D"]);
    const completed = reanchorOf(
      story,
      ["A", "C", "D"].map((name) => statementWith(story, name, 2, record)),
    );
    const subject = subjectOf(record.recordHash, record.recordCore);
    const anchorHash = Record.anchorHashOf(completed.body);
    hand(story, "C", "C", completed);
    hand(story, "C", "D", responseOf(record), null);
    for (const name of ["A", "D"])
      hand(story, "C", name, {
        kind: "vote_packet",
        actionVotes: [],
        durabilityVotes: [],
        carryVotes: carryVotesOf(story, record, completed.body, [name]).map((evidence) => ({
          ...carryVoteOf({ ...subject, anchorHash }, evidence.signerAgentId),
          ...evidence,
        })),
      });
    const { open, slot } = story.at("C").disk.state;
    expect(slot).toMatchObject({ carryVote: true, durabilityVote: record.recordHash });
    expect(open).toMatchObject([{ laneSequence: null, authorSignature: null, carry: { round: 2 } }]);
    const again = proposalOf(story, "D", "carried");
    hand(story, "C", "A", again, 2_000);
    hand(story, "C", "D", again, 2_001);
    const { authorSignature } = again;
    const relays = { [story.at("A").id]: 2_000 };
    expect(story.at("C").disk.state.open).toEqual([
      { ...open[0], laneSequence: 2_001, authorSignature, relays },
    ]);
    // A, C and D may have certified it under round 2; what B holds of round 1 must not be carried over it.
    for (const name of ["A", "B", "D"]) hand(story, "C", name, wishOf(story, name, 3));
    const stated = statementsIn(saidBy(story, "C")).find(({ statement }) => statement.round === 3);
    if (stated === undefined) throw new Error("C states round 3");
    expect(stated.statement.prepared).toMatchObject({ recordHash: record.recordHash, round: 2 });
    expect(stated.preparedProof?.carry?.carryVotes).toHaveLength(3);
    const next = reanchorOf(story, [
      statementWith(story, "B", 3, other, { round: 1 }),
      stated,
      statementOf(story, "D", 3),
    ]);
    expect(next.body.carriedRecordHash).toBe(record.recordHash);
  });

  verifies(
    "HIS-77",
    "let nothing else be locked, voted for or proposed before the record is certified",
    () => {
      const story = byHand(4);
      const names = ["A", "B", "C", "D"];
      const record = preparedBy(story, "B", "carried", names);
      hand(
        story,
        "A",
        "B",
        reanchorOf(
          story,
          names.slice(1).map((name) => statementWith(story, name, 1, record)),
        ),
      );
      hand(story, "A", "B", responseOf(record), null);
      story.say("A", "mine");
      expect(story.at("A").disk.state).toMatchObject({
        proposal: null,
        slot: { lock: null, carryVote: true },
      });
    },
  );
});

describe("two members with two certificates of one round", () => {
  verifies("HIS-92", "carry the one with the lower hash, and the other post comes after it", () => {
    for (const texts of [
      ["one", "two"],
      ["three", "four"],
      ["five", "six"],
    ] as const) {
      const story = scenario(2);
      story.say("A", texts[0]);
      story.say("B", texts[1]);
      const [ofA] = story.at("A").disk.outbox[0]?.packets ?? [];
      const [ofB] = story.at("B").disk.outbox[0]?.packets ?? [];
      // Each is shown the other's proposal first, as a Router that forks its lane would do it.
      hand(story, "A", "B", ofB as never, 1);
      hand(story, "B", "A", ofA as never, 1);
      const stagedBy = (name: string): RecordHash => {
        const { durabilityVote } = story.at(name).disk.state.slot;
        if (durabilityVote === null) throw new Error(`${name} staged nothing`);
        return durabilityVote;
      };
      const hashes = [stagedBy("A"), stagedBy("B")];
      expect(hashes[0]).not.toBe(hashes[1]);
      hashes.sort((left, right) => Buffer.compare(RecordHash.toBytes(left), RecordHash.toBytes(right)));
      story.run(60_000);
      expect(roundOf(story.at("A"))).toBe(1);
      expect(story.at("A").disk.records[1]?.recordHash).toBe(hashes[0]);
      expect(story.chain("A")).toHaveLength(2);
      expect(story.chain("B")).toEqual(story.chain("A"));
    }
  });
});
