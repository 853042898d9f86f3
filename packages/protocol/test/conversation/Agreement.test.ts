// How one liar would have two records certified at one height: an author that proposes a record once more to a member which
// fetched it, carried it and made it durable in a later round.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Packet, PacketKind, PacketOf } from "@social-harness/protocol/conversation/Packet";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import type { AnchorHash } from "@social-harness/protocol/identity/Identifier";
import { byHand, hand, proposalOf, type Scenario } from "./Scenario.ts";
import {
  preparedBy,
  reanchorOf,
  responseOf,
  saidBy,
  statementOf,
  statementsIn,
  wishOf,
} from "./RoundStories.ts";

type Votes = Omit<PacketOf<"vote_packet">, "kind">;

/** D's votes for a record: it signs whatever is of use to it. */
const votesOfD = (
  story: Scenario,
  core: Record.RecordCore,
  anchorHash: AnchorHash,
): { readonly [kind in keyof Votes]: PacketOf<"vote_packet"> } => {
  const { id, signer } = story.at("D");
  const subject = { ...VerifyRecord.subjectOf(Record.recordHashOf(core), core), anchorHash };
  const signed = <S extends Statement.Statement>(vote: S) => ({
    ...vote,
    signature: Statement.sign(signer, vote),
  });
  const none: PacketOf<"vote_packet"> = {
    kind: "vote_packet",
    actionVotes: [],
    durabilityVotes: [],
    carryVotes: [],
  };
  return {
    actionVotes: { ...none, actionVotes: [signed(VerifyRecord.actionVoteOf(subject, id))] },
    durabilityVotes: { ...none, durabilityVotes: [signed(VerifyRecord.durabilityVoteOf(subject, id))] },
    carryVotes: { ...none, carryVotes: [signed(VerifyRecord.carryVoteOf(subject, id))] },
  };
};

/** What a member has to say of one kind. The rest is lost. */
const said = <K extends PacketKind>(story: Scenario, name: string, kind: K): ReadonlyArray<PacketOf<K>> =>
  saidBy(story, name).filter((packet): packet is PacketOf<K> => packet.kind === kind);

const handAll = (story: Scenario, to: string, from: string, packets: ReadonlyArray<Packet>): void => {
  for (const packet of packets) hand(story, to, from, packet);
};

/** The named members and D wish for a round, so that each binds itself. Returns their statements, in that order. */
const changeTo = (story: Scenario, round: number, names: ReadonlyArray<string>) =>
  names.map((name) => {
    for (const from of [...names, "D"])
      if (from !== name) hand(story, name, from, wishOf(story, from, round));
    const statement = statementsIn(saidBy(story, name)).find((packet) => packet.statement.round === round);
    if (statement === undefined) throw new Error(`${name} did not state round ${round}`);
    return statement;
  });

/** The named members hear these statements and the re-anchor that they complete. Returns its body and hash. */
const begin = (
  story: Scenario,
  names: ReadonlyArray<string>,
  leader: string,
  statements: Parameters<typeof reanchorOf>[1],
) => {
  const completed = reanchorOf(story, statements);
  for (const name of names) {
    for (const packet of statements) {
      const from = story.name(packet.statement.signerAgentId);
      if (from !== name) hand(story, name, from, packet);
    }
    hand(story, name, leader, completed);
  }
  return { ...completed.body, anchorHash: Record.anchorHashOf(completed.body) };
};

/** The two carry and make durable, with D's help, and the first of them certifies. */
const certifyCarried = (
  story: Scenario,
  names: readonly [string, string],
  { recordCore }: HistoryRecord,
  anchorHash: AnchorHash,
): void => {
  const [one, other] = names;
  const votes = votesOfD(story, recordCore, anchorHash);
  const ofOne = said(story, one, "vote_packet");
  handAll(story, one, other, said(story, other, "vote_packet"));
  handAll(story, other, one, ofOne);
  for (const name of names) hand(story, name, "D", votes.carryVotes);
  handAll(story, one, other, said(story, other, "vote_packet"));
  hand(story, one, "D", votes.durabilityVotes);
};

describe("one liar among four", () => {
  verifies(
    ["HIS-80", "HIS-77"],
    "has no second record certified by proposing the first again to who carried it",
    () => {
      const story = byHand(4);
      const proposal = proposalOf(story, "D", "first");
      const first = preparedBy(story, "D", "first", ["A", "B", "D"]);
      const { anchorHash } = first.recordCore;
      // Round 0: A alone hears that three voted for D's record.
      for (const name of ["A", "B", "C"]) hand(story, name, "D", proposal);
      handAll(story, "A", "B", said(story, "B", "vote_packet"));
      hand(story, "A", "D", votesOfD(story, first.recordCore, anchorHash).actionVotes);
      expect(story.at("A").disk.state.slot.durabilityVote).toBe(first.recordHash);

      // Round 1, without A: B's record gets its certificate, which only B hears of.
      const round1 = begin(story, ["B", "C"], "B", [
        ...changeTo(story, 1, ["B", "C"]),
        statementOf(story, "D", 1),
      ]);
      story.say("B", "second");
      const [own] = said(story, "B", "proposal_packet");
      if (own === undefined) throw new Error("B opens round 1");
      hand(story, "B", "B", own, 2_000);
      hand(story, "C", "B", own, 2_000);
      handAll(story, "B", "C", said(story, "C", "vote_packet"));
      hand(story, "B", "D", votesOfD(story, own.recordCore, round1.anchorHash).actionVotes);
      const secondHash = Record.recordHashOf(own.recordCore);
      expect(story.at("B").disk.state.slot.durabilityVote).toBe(secondHash);

      // Round 2, without B: it carries D's record, which C has to fetch, and A certifies it.
      const round2 = begin(story, ["A", "C"], "C", [
        ...changeTo(story, 2, ["A", "C"]),
        statementOf(story, "D", 2),
      ]);
      expect(round2.carriedRecordHash).toBe(first.recordHash);
      hand(story, "C", "A", responseOf(first), null);
      certifyCarried(story, ["A", "C"], first, round2.anchorHash);
      expect(story.chain("A")).toEqual(["D: first"]);
      expect(story.at("C").disk.state.slot.durabilityVote).toBe(first.recordHash);

      // D proposes it to C once more, and round 3 is completed without A, by D.
      hand(story, "C", "D", proposal, 3_000);
      const [ofB, ofC] = changeTo(story, 3, ["B", "C"]);
      expect(ofB?.statement.prepared).toMatchObject({ recordHash: secondHash, round: 1 });
      expect(ofC?.statement.prepared).toMatchObject({ recordHash: first.recordHash, round: 2 });
      const statements = [ofB, ofC].flatMap((packet) => packet ?? []);
      const round3 = begin(story, ["B", "C"], "D", [...statements, statementOf(story, "D", 3)]);
      expect(round3.carriedRecordHash).toBe(first.recordHash);
      hand(story, "B", "C", responseOf(first), null);
      certifyCarried(story, ["B", "C"], first, round3.anchorHash);
      expect(story.chain("B")).toEqual(["D: first"]);
    },
  );
});
