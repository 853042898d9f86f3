// Statements: believed for what their certificates prove and for nothing else, and the end of every earlier vote.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { genesisAnchorOf, openConversation } from "@social-harness/testkit/simulation/Certify";
import type { PacketOf, StatementPacket } from "@social-harness/protocol/conversation/Packet";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import type * as Record from "@social-harness/protocol/history/Record";
import { MembershipHash } from "@social-harness/protocol/identity/Identifier";
import { byHand, hand, proposalOf, type Scenario, strangeRecordHash } from "./Scenario.ts";
import {
  carryVotesOf,
  certificateOf,
  kindsSaidBy,
  preparedBy,
  preparedProofOf,
  reanchorOf,
  responseOf,
  saidBy,
  statementOf,
  statementsIn,
  statementWith,
  wishOf,
} from "./RoundStories.ts";

const roundsOf = (story: Scenario, name: string) => story.at(name).disk.state.rounds;

/** A is bound to a round by the wishes of the others. */
const bound = (story: Scenario, round: number, name = "A"): void => {
  for (const { id } of story.world.all)
    if (story.name(id) !== name) hand(story, name, story.name(id), wishOf(story, story.name(id), round));
  expect(roundsOf(story, name).bound).toBe(round);
};

describe("a statement binds its signer", () => {
  /** B's proposal, and the certificate that B makes of it. */
  const certificateBy = (story: Scenario, record: HistoryRecord): PacketOf<"action_certificate"> => ({
    kind: "action_certificate",
    conversationId: story.world.members.conversationId,
    ...certificateOf(story, record),
    durabilityVote: record.durabilityVotes[0] as never,
  });

  verifies(
    "HIS-72",
    "who signed it takes no lock, casts no vote and proposes nothing under a lower round",
    () => {
      const story = byHand(4);
      bound(story, 1);
      saidBy(story, "A");
      const record = preparedBy(story, "B", "hello", ["A", "B", "C", "D"]);
      hand(story, "A", "B", proposalOf(story, "B", "hello"));
      expect(story.at("A").disk.state.slot.lock).toBeNull();
      hand(story, "A", "B", certificateBy(story, record));
      story.say("A", "mine");
      expect(story.at("A").disk).toMatchObject({
        ownVotes: [],
        state: { slot: { actionVote: null, durabilityVote: null }, proposal: null },
      });
      expect(saidBy(story, "A")).toEqual([]);
    },
  );

  verifies("HIS-72", "and drops the proposal that was out, whose post it proposes again in the round", () => {
    const story = byHand(2);
    const postId = story.say("A", "hello");
    bound(story, 1);
    expect(story.at("A").disk.state.proposal).toBeNull();
    story.run(60_000);
    expect(story.outcome("A", postId)).toBe("certified");
    expect(story.chains()).toEqual([["A: hello"], ["A: hello"]]);
    expect(story.at("A").disk.state.anchor?.round).toBeGreaterThan(0);
  });

  verifies(
    ["HIS-72", "HIS-73"],
    "it names head and prepared record of its signer, with exactly their certificates",
    () => {
      const story = byHand(4);
      story.say("A", "one");
      story.run(1_000);
      hand(story, "A", "B", proposalOf(story, "B", "two"));
      const record = preparedBy(story, "B", "two", ["A", "B", "C", "D"]);
      hand(story, "A", "B", certificateBy(story, record));
      expect(story.at("A").disk.state.slot.durabilityVote).toBe(record.recordHash);
      saidBy(story, "A");
      bound(story, 1);
      const [said] = statementsIn(saidBy(story, "A"));
      expect(said?.statement).toMatchObject({
        round: 1,
        head: { height: 1 },
        prepared: { recordHash: record.recordHash, height: 2, round: 0 },
      });
      expect(said?.headProof?.action.signatures).toHaveLength(3);
      expect(said?.headProof?.durabilityVotes).toHaveLength(3);
      expect(said?.preparedProof?.action.signatures).toHaveLength(3);
      expect(said?.preparedProof?.carry).toBeNull();
      hand(story, "B", "A", said as StatementPacket);
      expect(roundsOf(story, "B").stated).toEqual({ [story.at("A").id]: 1 });
    },
  );

  verifies("HIS-72", "to the round of f + 1 others with proven statements, and not of f", () => {
    for (const [n, f] of [
      [2, 0],
      [3, 0],
      [4, 1],
      [7, 2],
    ] as const) {
      const story = byHand(n);
      const others = ["B", "C", "D"].slice(0, f + 1);
      for (const name of others) {
        expect(roundsOf(story, "A").bound).toBe(0);
        hand(story, "A", name, statementOf(story, name, 4));
      }
      expect(roundsOf(story, "A").bound).toBe(4);
    }
  });
});

describe("a statement is believed", () => {
  const four = ["A", "B", "C", "D"];
  const told = (story: Scenario, packet: StatementPacket, laneSequence?: number | null): boolean => {
    const before = story.at("A").disk.state;
    hand(story, "A", "B", packet, laneSequence);
    const { stated } = roundsOf(story, "A");
    const isBelieved = stated[story.at("B").id] === packet.statement.round;
    if (!isBelieved) {
      expect(story.at("A").disk.state).toEqual(before);
      expect(kindsSaidBy(story, "A")).toEqual([]);
    }
    return isBelieved;
  };

  verifies("HIS-73", "with the certificates of what it names", () => {
    const story = byHand(4);
    const record = preparedBy(story, "C", "prepared", four);
    expect(told(story, statementOf(story, "B", 1))).toBe(true);
    expect(told(story, statementWith(story, "B", 2, record))).toBe(true);
    expect(roundsOf(story, "A").proven).toEqual({ [record.recordHash]: 0 });
  });

  verifies("HIS-73", "of a member that holds nothing yet, and of a head that is not here", () => {
    const story = byHand(4, false);
    expect(told(story, statementOf(story, "B", 1))).toBe(true);
    const other = byHand(4, false);
    openConversation(other.world);
    const packet = statementOf(other, "B", 1);
    expect(packet.statement.head).not.toBeNull();
    expect(told(byHand(4, false), packet)).toBe(true);
  });

  const cases: ReadonlyArray<[string, (story: Scenario, record: HistoryRecord) => StatementPacket]> = [
    ["without the proof of its head", (story) => statementOf(story, "B", 1, {}, { headProof: null })],
    [
      "without the proof of its preparation",
      (story, record) => statementOf(story, "B", 1, statementWith(story, "B", 1, record).statement),
    ],
    [
      "with a proof of what it does not name",
      (story, record) => statementOf(story, "B", 1, {}, { preparedProof: preparedProofOf(story, record) }),
    ],
    [
      "with the proof of another record",
      (story, record) => statementWith(story, "B", 1, record, { recordHash: strangeRecordHash }),
    ],
    ["that claims another height", (story, record) => statementWith(story, "B", 1, record, { height: 2 })],
    ["that claims a later round", (story, record) => statementWith(story, "B", 5, record, { round: 3 })],
    [
      "whose certificate lacks one vote",
      (story, record) =>
        statementOf(story, "B", 1, statementWith(story, "B", 1, record).statement, {
          preparedProof: {
            ...preparedProofOf(story, record),
            action: { ...certificateOf(story, record), signatures: record.actionSignatures.slice(0, 2) },
          },
        }),
    ],
    [
      "whose certificate is made of other votes",
      (story, record) =>
        statementOf(story, "B", 1, statementWith(story, "B", 1, record).statement, {
          preparedProof: {
            ...preparedProofOf(story, record),
            action: { ...certificateOf(story, record), signatures: record.durabilityVotes },
          },
        }),
    ],
    [
      "whose anchor is not the certificate's",
      (story, record) =>
        statementOf(story, "B", 1, statementWith(story, "B", 1, record, { round: 2 }).statement, {
          preparedProof: {
            ...preparedProofOf(story, record),
            anchor: { ...genesisAnchorOf(story.world), round: 2 },
          },
        }),
    ],
    [
      "that names another head than it proves",
      (story) => statementOf(story, "B", 1, { head: { recordHash: strangeRecordHash, height: 0 } }),
    ],
    [
      "that names its head at another height",
      (story) =>
        statementOf(story, "B", 1, {
          head: {
            recordHash: (story.at("B").disk.state.head ?? { recordHash: strangeRecordHash }).recordHash,
            height: 3,
          },
        }),
    ],
    [
      "of another membership",
      (story) =>
        statementOf(story, "B", 1, { membershipHash: MembershipHash.fromBytes(Buffer.alloc(32, 1)) }),
    ],
    [
      "that another member signed",
      (story) => ({ ...statementOf(story, "B", 1), signature: statementOf(story, "C", 1).signature }),
    ],
    ["that is another member's", (story) => statementOf(story, "C", 1)],
  ];
  for (const [what, make] of cases) {
    verifies("HIS-73", `and not one ${what}`, () => {
      const story = byHand(4);
      expect(told(story, make(story, preparedBy(story, "C", "prepared", four)))).toBe(false);
      expect(story.notes()).toHaveLength(1);
    });
  }

  verifies("HIS-73", "and not outside the lane", () => {
    const story = byHand(4);
    expect(told(story, statementOf(story, "B", 1), null)).toBe(false);
  });

  verifies("HIS-73", "about a preparation of a later round only with q(n) carry votes of that round", () => {
    for (const [n, quorum] of [
      [2, 2],
      [4, 3],
      [7, 5],
    ] as const) {
      const story = byHand(n);
      const names = story.world.all.map(({ id }) => story.name(id));
      const record = preparedBy(story, "B", "prepared", names);
      const carrying = names.slice(0, quorum).map((name) => statementWith(story, name, 2, record));
      const { body } = reanchorOf(story, carrying);
      expect(body.carriedRecordHash).toBe(record.recordHash);
      const claim = (round: number, voters: ReadonlyArray<string>): StatementPacket =>
        statementOf(
          story,
          "B",
          9,
          { prepared: { recordHash: record.recordHash, height: 1, round } },
          {
            preparedProof: {
              ...preparedProofOf(story, record),
              carry: { anchor: body, carryVotes: carryVotesOf(story, record, body, voters) },
            },
          },
        );
      expect(told(story, claim(2, names.slice(1, quorum)))).toBe(false);
      expect(told(story, claim(3, names))).toBe(false);
      expect(told(story, claim(0, names))).toBe(false);
      const old: Record.ReanchorBody = { ...body, round: 0 };
      const stale = claim(2, names);
      const { preparedProof } = stale;
      expect(
        told(story, {
          ...stale,
          preparedProof: preparedProof && {
            ...preparedProof,
            carry: { anchor: old, carryVotes: carryVotesOf(story, record, old, names) },
          },
        }),
      ).toBe(false);
      expect(told(story, claim(2, names.slice(0, quorum)))).toBe(true);
      expect(roundsOf(story, "A").proven).toEqual({ [record.recordHash]: 2 });
    }
  });

  verifies(["HIS-41", "HIS-73"], "once: again it changes nothing, and an older one neither", () => {
    const story = byHand(7);
    const packet = statementOf(story, "B", 7);
    expect(told(story, packet)).toBe(true);
    const { rounds } = story.at("A").disk.state;
    expect(rounds.statements).toEqual([packet]);
    hand(story, "A", "B", packet);
    hand(story, "A", "B", statementOf(story, "B", 3));
    const { heard: _, stall: __, ...after } = roundsOf(story, "A");
    expect(rounds).toMatchObject(after);
    expect(saidBy(story, "A")).toEqual([]);
  });
});

describe("what a statement names and is not here", () => {
  verifies(
    ["HIS-74", "HIS-47"],
    "is asked for from its signer by the leader of the round, and taken when it comes",
    () => {
      const story = byHand(4);
      const record = preparedBy(story, "C", "prepared", ["A", "B", "C", "D"]);
      hand(story, "A", "C", statementWith(story, "C", 4, record));
      expect(saidBy(story, "A")).toMatchObject([{ kind: "record_request", recordHash: record.recordHash }]);
      hand(story, "A", "C", responseOf(record), null);
      expect(story.at("A").disk.state.open).toMatchObject([
        { recordHash: record.recordHash, laneSequence: null },
      ]);
      hand(story, "B", "C", statementWith(story, "C", 4, record));
      expect(saidBy(story, "B")).toEqual([]);
      hand(story, "B", "C", responseOf(record), null);
      expect(story.at("B").disk.state.open).toEqual([]);
    },
  );
});
