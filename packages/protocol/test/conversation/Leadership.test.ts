// The leader of a round: it alone completes it, and it alone opens its first height.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { CompletedReanchor } from "@social-harness/protocol/history/Evidence";
import * as Record from "@social-harness/protocol/history/Record";
import { RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import {
  back,
  byHand,
  down,
  hand,
  proposalOf,
  type Scenario,
  scenario,
  strangeRecordHash,
} from "./Scenario.ts";
import {
  kindsSaidBy,
  nextRound,
  preparedBy,
  reanchorOf,
  responseOf,
  roundOf,
  saidBy,
  statementOf,
  statementWith,
  wishOf,
} from "./RoundStories.ts";

const reanchorsSaidBy = (story: Scenario, name: string): ReadonlyArray<CompletedReanchor> =>
  saidBy(story, name).filter((packet) => packet.kind === "completed_reanchor");

/** A member is bound to a round by the wishes of the others, and has said so. */
const bind = (story: Scenario, name: string, round: number): void => {
  for (const { id } of story.world.all)
    if (story.name(id) !== name) hand(story, name, story.name(id), wishOf(story, story.name(id), round));
  saidBy(story, name);
};

describe("a round is completed", () => {
  verifies("HIS-74", "by its leader, from q(n) statements, its own among them", () => {
    for (const [n, quorum] of [
      [2, 2],
      [4, 3],
      [7, 5],
    ] as const) {
      const story = byHand(n);
      bind(story, "B", 1);
      const names = story.world.all.map(({ id }) => story.name(id)).filter((name) => name !== "B");
      for (const name of names.slice(0, quorum - 2)) hand(story, "B", name, statementOf(story, name, 1));
      expect(reanchorsSaidBy(story, "B")).toEqual([]);
      const [last] = names.slice(quorum - 2);
      hand(story, "B", last as string, statementOf(story, last as string, 1));
      const [completed] = reanchorsSaidBy(story, "B");
      expect(completed?.statements).toHaveLength(quorum);
      const base = story.at("B").disk.records[0]?.recordHash;
      expect(completed?.body).toMatchObject({ round: 1, baseRecordHash: base, carriedRecordHash: null });
      expect(roundOf(story.at("B"))).toBe(1);
    }
  });

  verifies("HIS-74", "by nobody else, whatever it has heard", () => {
    const story = byHand(4);
    bind(story, "A", 1);
    for (const name of ["B", "C", "D"]) hand(story, "A", name, statementOf(story, name, 1));
    expect(reanchorsSaidBy(story, "A")).toEqual([]);
    expect(roundOf(story.at("A"))).toBe(0);
  });

  verifies("HIS-74", "from no statement of another round, another Router or without its proof", () => {
    const story = byHand(4);
    bind(story, "B", 1);
    hand(story, "B", "A", statementOf(story, "A", 5));
    const routerInstanceId = RouterInstanceId.fromBytes(Buffer.alloc(16, 1));
    hand(story, "B", "C", statementOf(story, "C", 1, { routerInstanceId }));
    hand(story, "B", "D", statementOf(story, "D", 1, {}, { headProof: null }));
    expect(reanchorsSaidBy(story, "B")).toEqual([]);
  });

  verifies(["HIS-74", "HIS-75"], "only once the leader holds the records that the statements name", () => {
    const story = byHand(4);
    const record = preparedBy(story, "C", "prepared", ["A", "B", "C", "D"]);
    bind(story, "B", 1);
    hand(story, "B", "A", statementOf(story, "A", 1));
    hand(story, "B", "C", statementWith(story, "C", 1, record));
    expect(kindsSaidBy(story, "B")).toEqual(["record_request"]);
    hand(
      story,
      "B",
      "C",
      { ...responseOf(record), actionSignatures: record.actionSignatures.slice(0, 2) },
      null,
    );
    expect(reanchorsSaidBy(story, "B")).toEqual([]);
    hand(story, "B", "C", responseOf(record), null);
    const [completed] = reanchorsSaidBy(story, "B");
    expect(completed?.body.carriedRecordHash).toBe(record.recordHash);
  });
});

describe("a re-anchor counts for nothing", () => {
  const statements = (story: Scenario, round = 1) =>
    ["B", "C", "D"].map((name) => statementOf(story, name, round));
  const refused = (
    what: string,
    make: (story: Scenario) => CompletedReanchor,
    from = "B",
    laneSequence?: number | null,
  ): void =>
    verifies(["HIS-74", "HIS-110"], what, () => {
      const story = byHand(4);
      const before = story.at("A").disk.state;
      hand(story, "A", from, make(story), laneSequence);
      expect(story.at("A").disk.state).toEqual(before);
      expect(story.notes()).toHaveLength(1);
      hand(story, "A", "B", reanchorOf(story, statements(story)));
      expect(roundOf(story.at("A"))).toBe(1);
    });

  refused("from another than its leader", (story) => reanchorOf(story, statements(story)), "C");
  refused("outside the lane", (story) => reanchorOf(story, statements(story)), "B", null);
  refused("from the leader of another round", (story) => reanchorOf(story, statements(story, 2)));
  refused("of too few statements", (story) => reanchorOf(story, statements(story).slice(1)));
  refused("of one member's statement twice", (story) => {
    const [first, second] = statements(story);
    return reanchorOf(story, [first, first, second] as never);
  });
  refused("with another body than its statements decide", (story) =>
    reanchorOf(story, statements(story), { carriedRecordHash: strangeRecordHash }),
  );
  refused("with a statement that its member did not sign", (story) => {
    const { body, statements: signed } = reanchorOf(story, statements(story));
    const [first, ...others] = signed as [(typeof signed)[number], ...typeof signed];
    return {
      kind: "completed_reanchor",
      body,
      statements: [{ ...first, signature: others[0]?.signature as never }, ...others],
    };
  });
  refused("of another Router instance", (story) => {
    const routerInstanceId = RouterInstanceId.fromBytes(Buffer.alloc(16, 1));
    const others = ["B", "C", "D"].map((name) => statementOf(story, name, 1, { routerInstanceId }));
    return reanchorOf(story, others, { routerInstanceId });
  });
});

describe("the first height of a round", () => {
  const proposalsIn = (story: Scenario): ReadonlyArray<string> =>
    story.sent().filter((line) => line.includes("proposal_packet"));

  verifies("HIS-78", "is opened by its leader alone, which passes on the first proposal of another", () => {
    const story = scenario(4);
    nextRound(story);
    story.sent();
    story.say("C", "one");
    story.run(1_000);
    expect(proposalsIn(story)).toEqual(["C => all: proposal_packet", "B => all: proposal_packet"]);
    story.say("C", "two");
    story.run(1_000);
    expect(proposalsIn(story)).toEqual(["C => all: proposal_packet"]);
    expect(story.chains()).toEqual(Array.from({ length: 4 }, () => ["C: one", "C: two"]));
  });

  verifies("HIS-78", "is opened by the leader's own proposal where it has one", () => {
    const story = scenario(4);
    nextRound(story);
    story.sent();
    story.say("B", "mine");
    story.run(1_000);
    expect(proposalsIn(story)).toEqual(["B => all: proposal_packet"]);
  });

  verifies("HIS-78", "gives no place to a proposal from its author or from another, however early", () => {
    const story = scenario(4);
    nextRound(story);
    const { head, anchor } = story.at("A").disk.state;
    const position = {
      height: 1,
      previousRecordHash: head?.recordHash as Record.PostCore["action"]["previousRecordHash"],
      anchorHash: anchor?.anchorHash as Record.PostCore["anchorHash"],
    };
    const first = proposalOf(story, "C", "first", { position });
    const second = proposalOf(story, "D", "second", { position });
    hand(story, "A", "C", first, 101);
    hand(story, "A", "D", second, 102);
    hand(story, "A", "D", first, 103);
    expect(story.at("A").disk.state.slot.lock).toBeNull();
    hand(story, "A", "B", second, 104);
    expect(story.at("A").disk.state.slot.lock).toBe(Record.recordHashOf(second.recordCore));
    hand(story, "A", "B", first, 105);
    expect(story.at("A").disk.state.slot.actionVote).toBe(Record.recordHashOf(second.recordCore));
  });

  for (const n of [2, 4, 7]) {
    verifies(["HIS-78", "HIS-28"], `goes to another's post in a conversation of ${n}`, () => {
      const story = scenario(n);
      nextRound(story);
      const author = n === 2 ? "A" : "C";
      const postId = story.say(author, "passed on");
      story.run(1_000);
      expect(story.outcome(author, postId)).toBe("certified");
      expect(story.chains()).toEqual(story.world.all.map(() => [`${author}: passed on`]));
    });
  }

  verifies(["HIS-78", "HIS-85"], "whose leader has died is left for the next round", () => {
    const story = scenario(4);
    nextRound(story);
    down(story, "B");
    const postId = story.say("C", "hello");
    story.run(120_000);
    expect(story.outcome("C", postId)).toBe("certified");
    expect(roundOf(story.at("C"))).toBeGreaterThan(1);
    back(story, "B");
    story.say("B", "back");
    story.run(60_000);
    expect(story.chains()).toEqual(Array.from({ length: 4 }, () => ["C: hello", "B: back"]));
  });
});

describe("work that only some can see", () => {
  verifies(
    "HIS-93",
    "is work for all: who is held by a proposal that was kept from the others goes on",
    () => {
      const story = scenario(7);
      const shown = ["A", "B", "G"].map((name) => story.at(name).id);
      story.world.loses = (from, packets, to) =>
        from === story.at("G").id &&
        packets.some(({ kind }) => kind === "proposal_packet") &&
        !shown.includes(to.id);
      story.say("G", "for your eyes only");
      story.run(0);
      down(story, "G");
      const postId = story.say("A", "and mine?");
      expect(story.at("A").disk.state.proposal).toBeNull();
      story.run(600_000);
      expect(story.outcome("A", postId)).toBe("certified");
      expect(roundOf(story.at("F"))).toBeGreaterThan(0);
    },
  );

  verifies("HIS-93", "is given up where its member says no more of it", () => {
    const story = scenario(7);
    hand(story, "A", "B", {
      kind: "vote_packet",
      actionVotes: [],
      durabilityVotes: [],
      carryVotes: [
        {
          kind: "carry_vote",
          signerAgentId: story.at("B").id,
          conversationId: story.world.members.conversationId,
          height: 1,
          previousRecordHash: story.at("B").disk.records[0]?.recordHash ?? null,
          anchorHash: story.at("B").disk.state.anchor?.anchorHash as never,
          recordHash: strangeRecordHash,
          signature: proposalOf(story, "B", "x").authorSignature,
        },
      ],
    });
    expect(story.at("A").disk.state.rounds.called).toBe(true);
    story.run(3_600_000);
    expect(story.at("A").disk.state.rounds).toMatchObject({ called: false, wish: 0, bound: 0 });
    expect(story.world.nextWake()).toBeNull();
  });
});
