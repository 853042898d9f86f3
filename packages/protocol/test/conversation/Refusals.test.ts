// Proposals that come to nothing: refused by contact policy, or withdrawn by their author.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Packet, PacketOf } from "@social-harness/protocol/conversation/Packet";
import type { PostId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { back, deaf, down, hand, hearing, proposalOf, runWithout } from "./Scenario.ts";
import { closed, refusalOf, scenario, stateOf, withdraw, withdrawalOf } from "./RefusalStories.ts";

const isVote = ({ kind }: Packet): boolean => kind === "vote_packet";

describe("a GENESIS that somebody's contact policy is against", () => {
  for (const n of [2, 3]) {
    verifies(["HIS-150", "HIS-151"], `is refused at once among ${n}, and its author is told so`, () => {
      const story = scenario(n, false);
      closed(story, "B");
      const post = story.say("A", "hello");
      story.run(1_000);
      expect(story.outcome("A", post)).toBe("refused");
      expect(story.chains().every((chain) => chain.length === 0)).toBe(true);
      for (const { disk } of story.world.all) {
        expect(disk.state.slot.lock).toBeNull();
        expect(disk.state.open).toEqual([]);
        expect(disk.state.voids).toHaveLength(1);
        expect(disk.state.anchor).toBeNull();
      }
    });
  }

  verifies("HIS-151", "is reported at the first refusal among 4, though the others have voted", () => {
    const story = scenario(4, false);
    closed(story, "D");
    const post = story.say("A", "hello");
    story.run(2_000);
    expect(story.outcome("A", post)).toBe("refused");
    story.run(10 * Limits.roundMsMin);
    expect(story.chains().every((chain) => chain.length === 0)).toBe(true);
  });

  verifies("HIS-151", "stays refused, whoever votes for it all the same", () => {
    for (const n of [3, 4, 7]) {
      const story = scenario(n, false);
      const others = story.world.all.map(({ id }) => story.name(id)).filter((name) => name !== "A");
      const post = story.say("A", "hello");
      const liar = others.at(-1) as string;
      story.world.loses = (from, packets, to) =>
        from === story.at(liar).id || (to.id === story.at("A").id && packets.some(isVote));
      story.run(1_000);
      const [record] = stateOf(story, "A").open;
      const core = story.at("A").disk.cores.get(record?.recordHash as never);
      hand(story, "A", liar, refusalOf(story, liar, { recordCore: core } as PacketOf<"proposal_packet">));
      story.world.loses = () => false;
      story.run(20 * Limits.roundMsMin);
      expect(story.outcome("A", post)).toBe("refused");
      expect(
        story.at("A").disk.ownVotes.filter(({ recordHash }) => recordHash === record?.recordHash),
      ).toEqual([]);
      expect(story.chains().flat()).toEqual([]);
    }
  });

  verifies("HIS-151", "is heeded no more once all have voted: who refuses it then has lied", () => {
    for (const n of [4, 7]) {
      const story = scenario(n, false);
      const post = story.say("A", "hello");
      story.world.loses = (_, packets) => packets.some(({ kind }) => kind === "action_certificate");
      story.run(1_000);
      const [record] = stateOf(story, "A").open;
      expect(Object.keys(record?.action ?? {})).toHaveLength(n);
      const core = story.at("A").disk.cores.get(record?.recordHash as never);
      hand(story, "A", "B", refusalOf(story, "B", { recordCore: core } as PacketOf<"proposal_packet">));
      expect(story.outcome("A", post)).toBeNull();
      story.world.loses = () => false;
      story.run(20 * Limits.roundMsMin);
      expect(story.outcome("A", post)).toBe("certified");
    }
  });

  verifies("HIS-150", "gets no vote of that member, and another one does once the owner lets it in", () => {
    for (const n of [2, 3, 4]) {
      const story = scenario(n, false);
      closed(story, "B");
      const first = story.say("A", "may I?");
      story.run(10 * Limits.roundMsMin);
      expect(story.outcome("A", first)).toBe("refused");
      expect(story.at("B").disk.ownVotes).toEqual([]);
      closed(story);
      const second = story.say("A", "and now?");
      story.run(10 * Limits.roundMsMin);
      expect(story.outcome("A", second)).toBe("certified");
      expect(story.chain("B")).toEqual(["A: and now?"]);
    }
  });

  for (const n of [4, 7]) {
    verifies(
      "HIS-156",
      `lets go of a voter among ${n} who heard no refusal, its author silent for long`,
      () => {
        const story = scenario(n, false);
        closed(story, "B", "D");
        story.world.loses = (_, packets, to) =>
          to.id === story.at("C").id &&
          packets.some(({ kind }) => kind === "refusal" || kind === "withdrawal");
        const refused = story.say("A", "hello");
        story.run(1_000);
        expect(story.outcome("A", refused)).toBe("refused");
        expect(stateOf(story, "A").open).toEqual([]);
        expect(stateOf(story, "C").slot.lock).not.toBeNull();
        story.world.loses = () => false;
        closed(story);
        const post = story.say("C", "then I shall open it");
        story.run(10 * Limits.roundMsMin);
        expect(story.outcome("C", post)).toBe("certified");
        expect(story.chain("A")).toEqual(["C: then I shall open it"]);
      },
    );
  }

  verifies("HIS-150", "is never the own one, nor any POST", () => {
    const story = scenario(3, false);
    const genesis = story.say("A", "hello");
    story.run(1_000);
    expect(story.outcome("A", genesis)).toBe("certified");
    closed(story, "A", "B", "C");
    const post = story.say("B", "content is the firewall's business");
    story.run(1_000);
    expect(story.outcome("B", post)).toBe("certified");
  });
});

describe("a withdrawal", () => {
  verifies("HIS-152", "of what nobody has seen ends it at once", () => {
    const story = scenario(3);
    story.world.disconnect(story.at("A").index);
    const first = story.say("A", "never mind");
    withdraw(story, "A", first);
    expect(story.outcome("A", first)).toBe("withdrawn");
    story.world.connect(story.at("A").index);
    const second = story.say("A", "this one");
    story.run(1_000);
    expect(story.outcome("A", second)).toBe("certified");
    expect(story.chain("B")).toEqual(["A: this one"]);
  });

  for (const n of [2, 3, 4, 7]) {
    verifies(
      "HIS-153",
      `among ${n} ends a post that the others have not voted for, and frees the slot`,
      () => {
        const story = scenario(n);
        const others = ["B", "C", "D", "E", "F", "G"].slice(0, n - 1);
        let post: PostId | null = null;
        runWithout(story, others, 0);
        for (const name of others) story.world.disconnect(story.at(name).index);
        post = story.say("A", "come back, post");
        story.run(0);
        withdraw(story, "A", post);
        story.run(0);
        expect(story.outcome("A", post)).toBeNull();
        for (const name of others) story.world.connect(story.at(name).index);
        const other = story.say("B", "another");
        story.run(10 * Limits.roundMsMin);
        expect(story.outcome("A", post)).toBe("withdrawn");
        expect(story.outcome("B", other)).toBe("certified");
        for (const chain of story.chains()) expect(chain).toEqual(["B: another"]);
      },
    );
  }

  verifies("HIS-153", "that comes too late leaves the post certified", () => {
    const story = scenario(4);
    deaf(story, "A", "vote_packet");
    const post = story.say("A", "too late");
    runWithout(story, [], 0);
    hearing(story);
    withdraw(story, "A", post);
    story.run(10 * Limits.roundMsMin);
    expect(story.outcome("A", post)).toBe("certified");
    for (const chain of story.chains()) expect(chain).toEqual(["A: too late"]);
  });

  verifies("HIS-153", "ends a post that lost its slot, which is not proposed again", () => {
    const story = scenario(3);
    const ours = proposalOf(story, "B", "first");
    for (const name of ["A", "C"]) story.world.disconnect(story.at(name).index);
    const winner = story.say("B", "first");
    story.run(0);
    story.world.connect(story.at("A").index);
    const loser = story.say("A", "second");
    withdraw(story, "A", loser);
    story.world.connect(story.at("C").index);
    story.run(2_000);
    expect(ours.recordCore.action.height).toBe(1);
    expect(story.outcome("B", winner)).toBe("certified");
    expect(story.outcome("A", loser)).toBe("withdrawn");
    expect(story.chain("C")).toEqual(["B: first"]);
  });

  verifies("HIS-154", "is believed of the author alone, on the lane, for a proposal that is held", () => {
    const story = scenario(4);
    const packet = proposalOf(story, "B", "mine");
    const withdrawal = withdrawalOf(story, "B", packet);
    hand(story, "A", "B", withdrawal);
    story.world.disconnect(story.at("A").index);
    hand(story, "A", "B", packet);
    hand(story, "A", "C", withdrawal);
    hand(story, "A", "C", withdrawalOf(story, "C", packet));
    hand(story, "A", "B", withdrawal, null);
    hand(story, "A", "B", { ...withdrawal, signature: withdrawalOf(story, "C", packet).signature });
    expect(stateOf(story, "A").open[0]?.withdrawal).toBeNull();
    expect(story.notes()).toHaveLength(4);
    hand(story, "A", "B", withdrawal);
    expect(stateOf(story, "A").open[0]?.withdrawal).toBe(withdrawal.signature);
  });

  verifies(
    "HIS-155",
    "by expiry asks the members, and ends unknown when they do not settle it in time",
    () => {
      const story = scenario(4);
      for (const name of ["C", "D"]) down(story, name);
      const post = story.say("A", "old news");
      story.run(1_000);
      expect(stateOf(story, "A").proposal).not.toBeNull();
      story.world.now += Limits.intentLifetimeMs;
      story.world.feed(story.at("A").index, { kind: "tick" });
      expect(stateOf(story, "A").withdrawing).toMatchObject([{ postId: post, told: false }]);
      expect(story.outcome("A", post)).toBeNull();
      story.world.now += Limits.withdrawalMs;
      story.world.feed(story.at("A").index, { kind: "tick" });
      expect(story.outcome("A", post)).toBe("outcome-unknown");
      expect(stateOf(story, "A").withdrawing).toMatchObject([{ told: true }]);
      for (const name of ["C", "D"]) back(story, name);
      story.run(10 * Limits.roundMsMin);
      expect(stateOf(story, "A").proposal).toBeNull();
    },
  );
});
