// A member whose disk came back older than what it signed: what shows it, what it does until it may sign again, and when.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Disk } from "@social-harness/testkit/simulation/Disk";
import * as Limits from "@social-harness/protocol/Limits";
import { floorOf } from "@social-harness/protocol/conversation/Floor";
import type { Restored } from "@social-harness/protocol/conversation/Restoration";
import { type OpenRecord, subjectOf } from "@social-harness/protocol/conversation/State";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import { durabilityVoteOf } from "@social-harness/protocol/history/VerifyRecord";
import { type AgentId, AnchorHash } from "@social-harness/protocol/identity/Identifier";
import { kindsSaidBy, nextRound, roundOf, saidBy, wishesIn } from "./RoundStories.ts";
import {
  deaf,
  down,
  hand,
  hearing,
  proposalOf,
  runWithout,
  scenario,
  type Scenario,
  strangeRecordHash,
} from "./Scenario.ts";

const stateOf = (story: Scenario, name: string) => story.at(name).disk.state;

/** Puts an earlier disk back and starts the member again. */
const putBack = (story: Scenario, name: string, disk: Disk): void => {
  const { index } = story.at(name);
  story.world.restore(index, disk);
  story.world.restart(index);
};

const anchorOf = (story: Scenario, name: string): AnchorHash =>
  stateOf(story, name).anchor?.anchorHash as AnchorHash;

/** Another member shows a durability vote of this one for an open record, which its disk does not hold. */
const showOwnVote = (story: Scenario, name: string, record: OpenRecord): void => {
  const { id, signer } = story.at(name);
  const vote = durabilityVoteOf(subjectOf(record, story.world.members.conversationId), id);
  const durabilityVotes = [{ ...vote, signature: Statement.sign(signer, vote) }];
  hand(story, name, "A", { kind: "vote_packet", actionVotes: [], durabilityVotes, carryVotes: [] }, null);
};

const signedOf = (story: Scenario, name: string): number => story.at(name).disk.ownVotes.length;

describe("the floor", () => {
  const restored = (rounds: ReadonlyArray<number>, round = 0): { readonly restored: Restored } => ({
    restored: {
      at: 0,
      round,
      question: strangeRecordHash,
      reports: Object.fromEntries(rounds.map((told, i) => [`agt_${i}` as AgentId, told])),
      stated: {},
      askAt: null,
      shown: [],
      intervalMs: 1,
    },
  });

  verifies("HIS-161", "is unknown until all others have answered, or q(n) of four and more", () => {
    for (const [n, needed] of [
      [2, 1],
      [3, 2],
      [4, 3],
      [7, 5],
      [10, 7],
      [32, 22],
    ] as const) {
      expect(floorOf(restored(Array.from({ length: needed - 1 }, () => 1)), n)).toBeNull();
      expect(floorOf(restored(Array.from({ length: needed }, () => 1)), n)).toBe(1);
    }
  });

  verifies("HIS-161", "is the highest answer below four, and never below what the disk itself knows", () => {
    expect(floorOf(restored([3, 1]), 3)).toBe(3);
    expect(floorOf(restored([3, 1], 7), 3)).toBe(7);
  });

  verifies("HIS-161", "cannot be raised by f - 1 liars, however many of the others answer", () => {
    for (const n of [4, 7, 10, 13, 32]) {
      const f = Math.floor((n - 1) / 3);
      const liars = Array.from({ length: f - 1 }, () => 1_000_000);
      for (let honest = n - f - liars.length; honest <= n - 1 - liars.length; honest++) {
        if (honest + liars.length < n - f) continue;
        if (honest < n - f) continue;
        expect(floorOf(restored([...liars, ...Array.from({ length: honest }, () => 2)]), n)).toBe(2);
      }
    }
  });

  verifies(
    "HIS-161",
    "is not below a round that n - 2f honest others are past, whichever q(n) answer",
    () => {
      for (const n of [4, 5, 6, 7, 10, 32]) {
        const f = Math.floor((n - 1) / 3);
        // The worst case: f - 1 liars answer low, and as few as may be of the honest that are past the round answer at all.
        for (let answers = n - f; answers <= n - 1; answers++) {
          const silent = n - 1 - answers;
          const past = Math.max(0, n - 2 * f - silent);
          const told = Array.from({ length: answers }, (_, i) => (i < past ? 5 : 0));
          expect(floorOf(restored(told), n)).toBe(5);
        }
      }
    },
  );
});

describe("a member whose disk is older", () => {
  for (const n of [2, 3]) {
    verifies(
      ["HIS-160", "HIS-162", "HIS-163"],
      `among ${n} signs nothing until all went to another round`,
      () => {
        const story = scenario(n);
        const backup = story.at("B").disk;
        for (let i = 0; i < 3; i++) {
          story.say("A", `post ${i}`);
          story.run(1_000);
        }
        for (const name of ["A", "C"].slice(0, n - 1)) story.world.disconnect(story.at(name).index);
        putBack(story, "B", backup);
        story.run(60_000);
        expect(stateOf(story, "B").restored).not.toBeNull();
        expect(signedOf(story, "B")).toBe(backup.ownVotes.length);
        for (const name of ["A", "C"].slice(0, n - 1)) story.world.connect(story.at(name).index);
        story.run(60_000);
        expect(stateOf(story, "B").restored).toBeNull();
        expect(roundOf(story.at("B"))).toBe(1);
        expect(story.chain("B")).toEqual(["A: post 0", "A: post 1", "A: post 2"]);
        const post = story.say("B", "I am back");
        story.run(5_000);
        expect(story.outcome("B", post)).toBe("certified");
      },
    );
  }

  for (const n of [4, 7]) {
    verifies(
      "HIS-163",
      `among ${n} is done without, and takes part again after its own post came to nothing`,
      () => {
        const story = scenario(n);
        const backup = story.at("B").disk;
        story.say("A", "one");
        story.run(1_000);
        putBack(story, "B", backup);
        story.run(1_000);
        story.say("A", "two");
        story.run(1_000);
        expect(story.chain("B")).toEqual(["A: one", "A: two"]);
        expect(stateOf(story, "B").restored).not.toBeNull();
        expect(signedOf(story, "B")).toBe(backup.ownVotes.length);
        const post = story.say("B", "three");
        story.run(10 * Limits.roundMsMin);
        expect(story.outcome("B", post)).toBe("certified");
        expect(stateOf(story, "B").restored).toBeNull();
      },
    );
  }

  verifies(
    "HIS-160",
    "takes no answer to a question of its former life for one to where the others are now",
    () => {
      const story = scenario(2);
      const backup = story.at("B").disk;
      story.world.disconnect(story.at("A").index);
      putBack(story, "B", backup);
      const page = {
        kind: "catch_up_page" as const,
        conversationId: story.world.members.conversationId,
        items: [],
        hasMore: false,
      };
      hand(story, "B", "A", { ...page, afterRecordHash: stateOf(story, "B").head?.recordHash ?? null }, null);
      expect(floorOf(stateOf(story, "B"), 2)).toBeNull();
      const question = stateOf(story, "B").restored?.question ?? null;
      hand(story, "B", "A", { ...page, afterRecordHash: question }, null);
      expect(floorOf(stateOf(story, "B"), 2)).toBe(0);
    },
  );

  verifies("HIS-160", "finds out by a vote of its own that its disk does not hold", () => {
    const story = scenario(4);
    story.world.isTold = false;
    const { index } = story.at("B");
    const backup = story.at("B").disk;
    story.say("A", "one");
    story.run(1_000);
    story.world.restore(index, backup);
    story.at("B").forgot = false;
    story.world.restart(index);
    expect(stateOf(story, "B").restored).toBeNull();
    story.world.feed(index, { kind: "gap" });
    story.run(1_000);
    expect(stateOf(story, "B").restored).not.toBeNull();
  });

  verifies("HIS-177", "knows a forgotten vote of the loss that it recovered from by its round", () => {
    const story = scenario(4);
    story.world.isTold = false;
    const backup = story.at("B").disk;
    // A alone holds the certificate, and the next round carries the record; it stays open for want of votes.
    for (const name of ["B", "C", "D"]) deaf(story, name, "action_certificate");
    story.say("A", "one");
    story.run(100);
    hearing(story);
    for (const name of ["A", "B", "C", "D"]) deaf(story, name, "vote_packet", "certified_notice");
    putBack(story, "B", backup);
    story.run(1_000);
    for (const name of ["A", "C", "D"]) story.world.feed(story.at(name).index, { kind: "wish-round" });
    story.run(1_000);
    const [carried] = stateOf(story, "B").open;
    expect(stateOf(story, "B")).toMatchObject({
      restored: null,
      recovered: { floor: 0, shown: [] },
      anchor: { round: 1, carried: carried?.recordHash },
    });
    showOwnVote(story, "B", carried as OpenRecord);
    expect(stateOf(story, "B").restored).toBeNull();

    // Under the anchor of the round in which it takes part again, it is another loss.
    showOwnVote(story, "B", { ...(carried as OpenRecord), anchorHash: anchorOf(story, "B") });
    expect(stateOf(story, "B").restored).not.toBeNull();
  });

  verifies("HIS-179", "refuses nothing of a round at or below its floor", () => {
    const story = scenario(4);
    story.world.isTold = false;
    const backup = story.at("B").disk;
    const { id, signer } = story.at("A");
    const b = story.at("B").id;
    story.world.loses = (from, packets, to) =>
      packets.some(
        ({ kind }) =>
          (kind === "vote_packet" && from === b) || (kind === "action_certificate" && to.id !== id),
      );
    story.say("A", "one");
    story.run(100);
    expect(story.at("B").disk.ownVotes.length).toBeGreaterThan(backup.ownVotes.length);
    hearing(story);
    for (const name of ["A", "B", "C", "D"]) deaf(story, name, "vote_packet", "certified_notice");
    putBack(story, "B", backup);
    story.run(1_000);
    for (const name of ["A", "C", "D"]) story.world.feed(story.at(name).index, { kind: "wish-round" });
    story.run(1_000);
    const { actionHash } = stateOf(story, "B").open[0] as OpenRecord;
    const withdrawal = { kind: "withdrawal" as const, authorAgentId: id, actionHash };
    hand(story, "B", "A", { ...withdrawal, signature: Statement.sign(signer, withdrawal) });
    const [carried] = stateOf(story, "B").open;
    expect(stateOf(story, "B").restored).toBeNull();
    expect(carried?.action).not.toHaveProperty(b);
    expect(carried?.withdrawal).not.toBeNull();
    expect(carried?.refusals).toEqual({});
  });

  verifies("HIS-177", "heeds a forgotten vote under an anchor that it does not know once", () => {
    const story = scenario(2);
    story.world.isTold = false;
    const strange = AnchorHash.fromBytes(Buffer.alloc(32, 0x5a));
    const unknown = proposalOf(story, "A", "of a forgotten round", { position: { anchorHash: strange } });
    const show = (): void => {
      hand(story, "B", "A", unknown);
      const recordHash = Record.recordHashOf(unknown.recordCore);
      const record = stateOf(story, "B").open.find((open) => open.recordHash === recordHash);
      showOwnVote(story, "B", record as OpenRecord);
    };
    show();
    expect(stateOf(story, "B").restored).not.toBeNull();
    story.run(60_000);
    expect(stateOf(story, "B")).toMatchObject({ restored: null, recovered: { floor: 0 } });
    expect(stateOf(story, "B").open).toEqual([]);
    show();
    expect(stateOf(story, "B").restored).toBeNull();
  });

  verifies(
    "HIS-162",
    "states nothing prepared, follows the statements of others, and leads no round at or below its floor",
    () => {
      const story = scenario(4);
      nextRound(story);
      const backup = story.at("B").disk;
      deaf(story, "B", "certified_notice");
      story.say("A", "one");
      runWithout(story, [], 0);
      hearing(story);
      putBack(story, "B", backup);
      story.run(1_000);
      expect(floorOf(stateOf(story, "B"), 4)).toBe(1);
      saidBy(story, "B");
      for (const name of ["A", "C", "D"]) story.world.feed(story.at(name).index, { kind: "wish-round" });
      story.run(1_000);
      expect(stateOf(story, "B").restored).toBeNull();
      expect(stateOf(story, "B").rounds.own?.statement.prepared ?? null).toBeNull();
      expect(roundOf(story.at("B"))).toBe(2);
    },
  );

  verifies(
    "HIS-164",
    "proposes nothing that the old disk held: found certified, or unknown once it is back",
    () => {
      const story = scenario(2);
      story.world.disconnect(story.at("B").index);
      const found = story.say("B", "found");
      const backup = story.at("B").disk;
      story.world.connect(story.at("B").index);
      story.run(1_000);
      expect(story.outcome("B", found)).toBe("certified");
      story.world.now += 1;
      putBack(story, "B", backup);
      story.run(60_000);
      expect(story.outcome("B", found)).toBe("certified");
      expect(story.chain("A")).toEqual(["B: found"]);

      const other = scenario(2);
      other.world.disconnect(other.at("B").index);
      const lost = other.say("B", "lost");
      const before = other.at("B").disk;
      putBack(other, "B", { ...before, outbox: [] });
      other.run(60_000);
      expect(other.outcome("B", lost)).toBe("outcome-unknown");
      expect(other.chain("A")).toEqual([]);
    },
  );

  verifies("HIS-160", "asks again those who were away, and stops when it knows enough", () => {
    const story = scenario(3);
    const backup = story.at("B").disk;
    story.say("A", "one");
    story.run(1_000);
    down(story, "C");
    putBack(story, "B", backup);
    story.run(10_000);
    expect(Object.keys(stateOf(story, "B").restored?.reports ?? {})).toEqual([story.at("A").id]);
    expect(wishesIn(saidBy(story, "B"))).toEqual([]);
    story.world.restart(story.at("C").index);
    story.run(600_000);
    expect(stateOf(story, "B").restored).toBeNull();
    expect(kindsSaidBy(story, "B")).toEqual([]);
  });
});

describe("members that have all forgotten the same", () => {
  const letterOf = (index: number): string => String.fromCodePoint(65 + index);

  /** Puts the disks of the last `count` of `n` members back, has each of them post, and says how many have not recovered. */
  const notRecovered = (n: number, count: number): number => {
    const story = scenario(n, true, false);
    const forgetful = story.world.all.slice(n - count);
    const backups = forgetful.map(({ disk }) => disk);
    story.say("A", "one");
    story.run(1_000);
    for (const { index } of forgetful) story.world.crash(index);
    forgetful.forEach(({ index }, i) => story.world.restore(index, backups[i] as Disk));
    for (const { index } of forgetful) story.world.restart(index);
    story.run(1_000);
    // A member that only missed the round in which the others recovered has its own post for cause.
    for (const { index } of forgetful) {
      story.say(letterOf(index), "again");
      story.run(20 * Limits.roundMsMin);
    }
    return forgetful.filter(({ disk }) => disk.state.restored !== null).length;
  };

  for (const [n, needed] of [
    [2, 1],
    [3, 1],
    [4, 2],
    [6, 2],
    [7, 3],
  ] as const) {
    verifies("RUN-100", `among ${n} take part again while ${needed} remember, and not with one fewer`, () => {
      expect(notRecovered(n, n - needed)).toBe(0);
      expect(notRecovered(n, n - needed + 1)).toBe(n - needed + 1);
    });
  }
});
