// Accepting the anchor of a round: with everything that it stands on, once a round, never backwards; and what becomes of
// the proposals that were under way.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { certifiedBy, genesisAnchorOf } from "@social-harness/testkit/simulation/Certify";
import type { PacketOf } from "@social-harness/protocol/conversation/Packet";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Record from "@social-harness/protocol/history/Record";
import { actionVoteOf, subjectOf } from "@social-harness/protocol/history/VerifyRecord";
import {
  back,
  byHand,
  down,
  hand,
  missed,
  proposalOf,
  type Scenario,
  scenario,
  strangeRecordHash,
} from "./Scenario.ts";
import {
  certificateOf,
  kindsSaidBy,
  nextRound,
  preparedBy,
  preparedProofOf,
  reanchorOf,
  responseOf,
  roundOf,
  saidBy,
  statementOf,
  statementWith,
  wishOf,
} from "./RoundStories.ts";

const four = ["A", "B", "C", "D"];

const pageOf = (story: Scenario, items: PacketOf<"catch_up_page">["items"]): PacketOf<"catch_up_page"> => ({
  kind: "catch_up_page",
  conversationId: story.world.members.conversationId,
  afterRecordHash: null,
  items,
  hasMore: false,
});

const itemOf = ({ recordHash: _, ...rest }: HistoryRecord): PacketOf<"catch_up_page">["items"][number] => ({
  kind: "certified_record",
  ...rest,
});

describe("a re-anchor is accepted", () => {
  verifies("HIS-75", "only with the carried record on disk, which is asked for from who stated it", () => {
    const story = byHand(4);
    const record = preparedBy(story, "C", "carried", four);
    const completed = reanchorOf(story, [
      statementOf(story, "B", 1),
      statementWith(story, "C", 1, record),
      statementWith(story, "D", 1, record),
    ]);
    hand(story, "A", "B", completed);
    expect(roundOf(story.at("A"))).toBe(0);
    expect(saidBy(story, "A")).toMatchObject([
      { kind: "record_request", recordHash: record.recordHash },
      { kind: "record_request", recordHash: record.recordHash },
    ]);
    hand(story, "A", "C", responseOf(record), null);
    expect(roundOf(story.at("A"))).toBe(1);
    expect(kindsSaidBy(story, "A")).toEqual(["vote_packet"]);
    expect(story.at("A").disk.ownVotes).toMatchObject([
      { vote: "carry", round: 1, recordHash: record.recordHash },
    ]);
  });

  verifies("HIS-75", "only with the carried record's action certificate: a proposal is not enough", () => {
    const story = byHand(4);
    const packet = proposalOf(story, "C", "carried");
    const record = preparedBy(story, "C", "carried", four);
    hand(story, "A", "C", packet);
    const completed = reanchorOf(
      story,
      ["B", "C", "D"].map((name) => statementWith(story, name, 1, record)),
    );
    hand(story, "A", "B", completed);
    expect(roundOf(story.at("A"))).toBe(0);
    hand(
      story,
      "A",
      "C",
      { ...responseOf(record), actionSignatures: record.actionSignatures.slice(0, 2) },
      null,
    );
    expect(roundOf(story.at("A"))).toBe(0);
    hand(story, "A", "C", responseOf(record), null);
    expect(roundOf(story.at("A"))).toBe(1);
  });

  verifies("HIS-75", "only with the chain up to its base, which is asked for from its leader", () => {
    const story = missed(2, false);
    const completed = reanchorOf(
      story,
      ["A", "B", "C"].map((name) => statementOf(story, name, 1)),
    );
    hand(story, "D", "B", completed);
    expect(roundOf(story.at("D"))).toBe(0);
    expect(story.at("D").disk.state.behind).toMatchObject({ target: { height: 2 } });
    expect(kindsSaidBy(story, "D")).toContain("catch_up_request");
    const records = story.at("A").disk.records.slice(1).map(itemOf);
    hand(story, "D", "B", pageOf(story, records), null);
    expect(story.chain("D")).toEqual(["A: 1", "A: 2"]);
    expect(roundOf(story.at("D"))).toBe(1);
  });

  verifies(["HIS-75", "HIS-73"], "in no higher round of preparation than certificates prove", () => {
    const story = byHand(4);
    const record = preparedBy(story, "C", "carried", four);
    const liar = statementOf(
      story,
      "D",
      5,
      { prepared: { recordHash: record.recordHash, height: 1, round: 4 } },
      { preparedProof: preparedProofOf(story, record) },
    );
    hand(story, "A", "B", reanchorOf(story, [statementOf(story, "B", 5), statementOf(story, "C", 5), liar]));
    hand(story, "A", "C", responseOf(record), null);
    expect(story.at("A").disk.state.open).toMatchObject([{ recordHash: record.recordHash }]);
    expect(roundOf(story.at("A"))).toBe(0);
  });

  verifies(
    "HIS-75",
    "only where the carried record directly follows the base, whatever height was claimed",
    () => {
      const story = byHand(4);
      const position = { height: 2, previousRecordHash: strangeRecordHash };
      const packet = proposalOf(story, "C", "far above", { position });
      const above = certifiedBy(story.world.all, packet.recordCore, genesisAnchorOf(story.world));
      hand(story, "A", "C", packet);
      const subject = subjectOf(above.recordHash, packet.recordCore);
      const actionVotes = above.actionSignatures.map(({ signerAgentId, signature }) => ({
        ...actionVoteOf(subject, signerAgentId),
        signature,
      }));
      hand(story, "A", "C", { kind: "vote_packet", actionVotes, durabilityVotes: [], carryVotes: [] });
      const claim = { prepared: { recordHash: above.recordHash, height: 1, round: 0 } };
      const liar = statementOf(story, "D", 1, claim);
      const completed = reanchorOf(story, [statementOf(story, "B", 1), statementOf(story, "C", 1), liar]);
      expect(completed.body.carriedRecordHash).toBe(above.recordHash);
      hand(story, "A", "B", completed);
      expect(roundOf(story.at("A"))).toBe(0);
    },
  );

  verifies("HIS-76", "once in a round: the first whose ground is here stands", () => {
    const story = byHand(4);
    const record = preparedBy(story, "C", "carried", four);
    const without = reanchorOf(
      story,
      ["A", "B", "D"].map((name) => statementOf(story, name, 1)),
    );
    const withCarried = reanchorOf(story, [
      statementOf(story, "B", 1),
      statementWith(story, "C", 1, record),
      statementOf(story, "D", 1),
    ]);
    hand(story, "A", "B", without);
    const { anchor } = story.at("A").disk.state;
    hand(story, "A", "B", withCarried);
    hand(story, "A", "C", responseOf(record), null);
    expect(story.at("A").disk.state.anchor).toEqual(anchor);
    expect(anchor).toMatchObject({ round: 1, carried: null });
  });

  verifies("HIS-76", "in no round below the one that binds, and it binds like stating", () => {
    const story = byHand(4);
    const completed = (round: number) =>
      reanchorOf(
        story,
        ["B", "C", "D"].map((name) => statementOf(story, name, round)),
      );
    for (const name of ["B", "C", "D"]) hand(story, "A", name, wishOf(story, name, 5));
    hand(story, "A", "B", completed(1));
    expect(roundOf(story.at("A"))).toBe(0);
    hand(story, "A", "B", completed(5));
    expect(story.at("A").disk.state.rounds).toMatchObject({ bound: 5, own: null, pending: null });
    hand(story, "B", "D", completed(3));
    expect(story.at("B").disk.state.rounds).toMatchObject({ bound: 3, own: null });
    saidBy(story, "B");
    for (const name of ["A", "C", "D"]) hand(story, "B", name, wishOf(story, name, 3));
    expect(saidBy(story, "B")).toEqual([]);
  });

  verifies("HIS-76", "not once a later round binds, though what it stands on comes then", () => {
    const story = byHand(4);
    const record = preparedBy(story, "C", "carried", four);
    const completed = reanchorOf(
      story,
      ["B", "C", "D"].map((name) => statementWith(story, name, 1, record)),
    );
    hand(story, "A", "B", completed);
    for (const name of ["B", "C", "D"]) hand(story, "A", name, wishOf(story, name, 5));
    hand(story, "A", "C", responseOf(record), null);
    expect(roundOf(story.at("A"))).toBe(0);
    expect(story.at("A").disk.state.rounds).toMatchObject({ bound: 5, pending: null });
  });
});

describe("a GENESIS", () => {
  verifies(
    ["HIS-79", "HIS-91"],
    "that one member keeps from being certified goes on in a later round",
    () => {
      const story = scenario(4, false);
      down(story, "D");
      const postId = story.say("A", "hello");
      story.run(120_000);
      expect(story.outcome("A", postId)).toBeNull();
      expect(roundOf(story.at("A"))).toBeGreaterThan(0);
      expect(story.at("A").disk.state.anchor).toMatchObject({ base: null, carried: null });
      back(story, "D");
      story.run(600_000);
      expect(story.chains()).toEqual(Array.from({ length: 4 }, () => ["A: hello"]));
      const [genesis] = story.at("D").disk.records as [HistoryRecord];
      expect(genesis.routerAnchor).toMatchObject({
        kind: "completed_reanchor",
        body: { baseRecordHash: null, previousAnchorHash: null, carriedRecordHash: null },
      });
      expect(Record.isGenesis(genesis.recordCore) && genesis.recordCore.action.anchor).toEqual(
        genesis.routerAnchor.kind === "completed_reanchor" && genesis.routerAnchor.body,
      );
    },
  );

  for (const n of [2, 4]) {
    verifies(["HIS-79", "HIS-77"], `of ${n} that was prepared is carried into the next round`, () => {
      const story = scenario(n, false);
      story.say("A", "hello");
      story.world.loses = (_, packets) =>
        packets.some((packet) => packet.kind === "vote_packet" && packet.durabilityVotes.length > 0);
      story.run(0);
      expect(story.chains()).toEqual(story.world.all.map(() => []));
      story.world.loses = () => false;
      nextRound(story);
      // A vote for the carried record that comes before the anchor is accepted is heard when it is repeated.
      story.run(10_000);
      const [genesis] = story.at("B").disk.records as [HistoryRecord];
      expect(story.chains()).toEqual(story.world.all.map(() => ["A: hello"]));
      expect(genesis).toMatchObject({
        routerAnchor: { kind: "genesis_anchor" },
        durabilityAnchor: { body: { round: 1, carriedRecordHash: genesis.recordHash } },
      });
    });
  }

  verifies(
    ["HIS-79", "HIS-96"],
    "that its author alone locked under a Router of earlier goes on under the new one",
    () => {
      for (const n of [3, 4, 7]) {
        const story = scenario(n, false);
        story.say("A", "hello");
        story.world.flush(0);
        story.world.deliverLane(0);
        expect(story.at("A").disk.state.slot.lock).not.toBeNull();
        story.world.replaceRouter();
        for (const { index } of story.world.all) {
          story.world.disconnect(index);
          story.world.connect(index);
        }
        story.run(60_000);
        expect(story.chains()).toEqual(story.world.all.map(() => ["A: hello"]));
        expect(roundOf(story.at("B"))).toBeGreaterThan(0);
      }
    },
  );

  verifies("HIS-79", "under one Router goes on under another, as a new round", () => {
    const story = scenario(3, false);
    down(story, "C");
    story.say("A", "hello");
    story.run(0);
    story.world.replaceRouter();
    for (const name of ["A", "B"]) {
      down(story, name);
      back(story, name);
    }
    back(story, "C");
    story.run(60_000);
    expect(story.chains()).toEqual([["A: hello"], ["A: hello"], ["A: hello"]]);
    const [genesis] = story.at("C").disk.records as [HistoryRecord];
    expect(Record.isGenesis(genesis.recordCore) && genesis.recordCore.action.anchor).toMatchObject({
      routerInstanceId: story.world.routerInstanceId,
    });
  });
});

describe("what a round leaves behind", () => {
  verifies("HIS-95", "is a certificate whose record nobody has: its slot is free again", () => {
    const story = byHand(4);
    const record = preparedBy(story, "C", "withheld", four);
    hand(story, "D", "C", {
      kind: "action_certificate",
      conversationId: story.world.members.conversationId,
      ...certificateOf(story, record),
      durabilityVote: record.durabilityVotes[0] as never,
    });
    const postId = story.say("D", "mine");
    expect(story.at("D").disk.state).toMatchObject({ proposal: null });
    expect(story.at("D").disk.state.behind?.missing?.recordHash).toBe(record.recordHash);
    nextRound(story);
    expect(story.at("D").disk.state.behind?.missing ?? null).toBeNull();
    story.run(60_000);
    expect(story.outcome("D", postId)).toBe("certified");
    expect(story.at("D").disk.state.behind).toBeNull();
  });

  verifies(
    ["HIS-95", "HIS-97"],
    "is such a certificate by itself, once its record has long been asked for",
    () => {
      const story = byHand(4);
      const record = preparedBy(story, "A", "withheld", four);
      for (const name of ["B", "C", "D"]) {
        hand(story, name, "A", {
          kind: "action_certificate",
          conversationId: story.world.members.conversationId,
          ...certificateOf(story, record),
          durabilityVote: record.durabilityVotes[0] as never,
        });
      }
      down(story, "A");
      const postId = story.say("D", "mine");
      story.run(10_000);
      expect(story.at("D").disk.state).toMatchObject({ proposal: null });
      story.run(120_000);
      expect(story.outcome("D", postId)).toBe("certified");
      expect(roundOf(story.at("B"))).toBeGreaterThan(0);
      expect(story.at("D").disk.state.behind).toBeNull();
    },
  );

  verifies("HIS-91", "are the proposals of earlier rounds, and their posts come again", () => {
    const story = scenario(4);
    const ids = ["A", "C"].map((name) => story.say(name, `of ${name}`));
    story.world.loses = (_, packets) => packets.some(({ kind }) => kind === "vote_packet");
    story.run(0);
    expect(story.at("B").disk.state.open).toHaveLength(2);
    story.world.loses = () => false;
    nextRound(story);
    const anchorHash = story.at("B").disk.state.anchor?.anchorHash;
    for (const { disk } of story.world.all)
      for (const record of disk.state.open) expect(record.anchorHash).toBe(anchorHash);
    story.run(60_000);
    expect(["A", "C"].map((name, i) => story.outcome(name, ids[i] as never))).toEqual([
      "certified",
      "certified",
    ]);
    expect(story.chain("D")).toHaveLength(2);
  });

  verifies(["HIS-91", "HIS-24"], "leaves every author its four places", () => {
    const story = scenario(4);
    for (let round = 1; round <= 6; round++) {
      hand(story, "A", "C", proposalOf(story, "C", `try ${round}`));
      nextRound(story);
    }
    story.notes();
    story.say("C", "at last");
    story.run(10_000);
    expect(story.notes()).toEqual([]);
    expect(story.chain("A")).toEqual(["C: at last"]);
  });
});
