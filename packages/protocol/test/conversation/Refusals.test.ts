// Proposals that come to nothing: refused by contact policy, withdrawn by their author, void once enough members refused.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { PostId } from "@social-harness/protocol/identity/Identifier";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as Record from "@social-harness/protocol/history/Record";
import type { Packet, PacketOf } from "@social-harness/protocol/conversation/Packet";
import * as Limits from "@social-harness/protocol/Limits";
import {
  back,
  deaf,
  down,
  hand,
  hearing,
  proposalOf,
  runWithout,
  scenario as storyOf,
  type Scenario,
} from "./Scenario.ts";

/** Here members know what they signed: nothing is signed in their name. */
const scenario = (n: number, opened = true): Scenario => {
  const story = storyOf(n, opened);
  story.world.isTold = false;
  return story;
};

const withdraw = ({ world, at }: Scenario, name: string, postId: PostId): void =>
  world.feed(at(name).index, { kind: "withdraw", postId });

/** The named members let nobody open a conversation with them. */
const closed = ({ world, name }: Scenario, ...names: ReadonlyArray<string>): void => {
  world.admits = ({ id }) => !names.includes(name(id));
};

const isVote = ({ kind }: Packet): boolean => kind === "vote_packet";

const stateOf = (story: Scenario, name: string) => story.at(name).disk.state;

const refusalOf = (
  story: Scenario,
  signer: string,
  { recordCore }: PacketOf<"proposal_packet">,
): PacketOf<"refusal"> => {
  const statement = {
    kind: "refusal" as const,
    signerAgentId: story.at(signer).id,
    actionHash: recordCore.actionHash,
    reason: "withdrawn" as const,
  };
  return { ...statement, signature: Statement.sign(story.at(signer).signer, statement) };
};

const withdrawalOf = (
  story: Scenario,
  author: string,
  { recordCore }: PacketOf<"proposal_packet">,
): PacketOf<"withdrawal"> => {
  const statement = {
    kind: "withdrawal" as const,
    authorAgentId: story.at(author).id,
    actionHash: recordCore.actionHash,
  };
  return { ...statement, signature: Statement.sign(story.at(author).signer, statement) };
};

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

describe("refusals", () => {
  verifies("HIS-156", "are only for what this member has not voted for", () => {
    const story = scenario(4);
    const packet = proposalOf(story, "B", "x");
    hand(story, "A", "B", packet);
    expect(stateOf(story, "A").slot.actionVote).not.toBeNull();
    hand(story, "A", "B", withdrawalOf(story, "B", packet));
    expect(Object.keys(stateOf(story, "A").open[0]?.refusals ?? {})).toEqual([]);
  });

  /** A of four has voted for its own post and withdrawn it, before anybody else saw either. */
  const withdrawn = (): Scenario => {
    const story = scenario(4);
    for (const name of ["B", "C", "D"]) story.world.disconnect(story.at(name).index);
    const post = story.say("A", "come back");
    story.run();
    withdraw(story, "A", post);
    story.run();
    return story;
  };
  const joined = (story: Scenario, ...names: ReadonlyArray<string>): void => {
    for (const name of names) story.world.connect(story.at(name).index);
    story.run();
  };

  verifies("HIS-157", "of f + (n - t) + 1 members free the lock and the vote, and nothing less does", () => {
    const story = withdrawn();
    const { lock } = stateOf(story, "A").slot;
    expect(lock).not.toBeNull();
    joined(story, "B", "C");
    expect(Object.keys(stateOf(story, "A").open[0]?.refusals ?? {})).toHaveLength(2);
    expect(stateOf(story, "A").slot).toMatchObject({ lock, actionVote: lock });
    joined(story, "D");
    expect(stateOf(story, "A").slot).toMatchObject({ lock: null, actionVote: null });
    expect(stateOf(story, "A").voids).toMatchObject([{ recordHash: lock, height: 1, refusal: null }]);
  });

  verifies("HIS-157", "that made a proposal void leave it unjudged for ever, and its slot to another", () => {
    const story = withdrawn();
    const [first] = stateOf(story, "A").open;
    const recordCore = story.at("A").disk.cores.get(first?.recordHash as never);
    joined(story, "B", "C", "D");
    hand(story, "C", "A", {
      kind: "proposal_packet",
      recordCore: recordCore as never,
      authorSignature: first?.authorSignature as never,
    });
    expect(stateOf(story, "C").open).toEqual([]);
    const post = story.say("C", "instead");
    story.run(1_000);
    expect(story.outcome("C", post)).toBe("certified");
    expect(story.at("A").disk.ownVotes.filter(({ vote }) => vote === "action")).toHaveLength(2);
  });

  verifies("HIS-156", "are believed of their signer alone, on the lane, once", () => {
    const story = scenario(7);
    const packet = proposalOf(story, "B", "x");
    hand(story, "A", "B", packet);
    hand(story, "A", "C", refusalOf(story, "D", packet));
    hand(story, "A", "C", { ...refusalOf(story, "C", packet), reason: "contact-policy" });
    hand(story, "A", "C", refusalOf(story, "C", packet), null);
    expect(story.notes()).toHaveLength(3);
    hand(story, "A", "C", refusalOf(story, "C", packet));
    hand(story, "A", "C", refusalOf(story, "C", packet));
    expect(Object.keys(stateOf(story, "A").open[0]?.refusals ?? {})).toEqual([story.at("C").id]);
  });

  verifies("HIS-157", "that made 32 proposals of an author void end its hearing, and nobody else's", () => {
    const story = scenario(3, false);
    closed(story, "B");
    const many = Limits.voidsPerAuthorMax;
    for (let i = 0; i < many; i++) hand(story, "B", "A", proposalOf(story, "A", `opening ${i}`));
    expect(stateOf(story, "B").voids).toHaveLength(many);
    story.notes();
    const one = proposalOf(story, "A", "one too many");
    hand(story, "B", "A", one);
    expect(stateOf(story, "B")).toMatchObject({ open: [], rounds: { called: false } });
    expect(story.notes()).toEqual(["B: too many proposals of its author came to nothing"]);
    closed(story);
    hand(story, "B", "C", proposalOf(story, "C", "of another"));
    expect(stateOf(story, "B").open).toHaveLength(1);
    hand(story, "B", "A", one);
    expect(stateOf(story, "B").rounds.called).toBe(true);
  });

  verifies(
    ["HIS-157", "HIS-151"],
    "of a whole series of posts keep out nothing once the owner lets them in",
    () => {
      for (const n of [2, 3, 4]) {
        const story = scenario(n, false);
        closed(story, "B");
        const refused = Array.from({ length: Limits.voidsPerAuthorMax + 3 }, (_, i) => {
          const post = story.say("A", `let me in ${i}`);
          story.run(2_000);
          return story.outcome("A", post);
        });
        expect(refused.slice(0, Limits.voidsPerAuthorMax)).toEqual(
          Array.from({ length: Limits.voidsPerAuthorMax }, () => "refused"),
        );
        closed(story);
        const [own, others] = [story.say("A", "and now?"), story.say("B", "come in")];
        story.run(20 * Limits.roundMsMin);
        expect([n, story.outcome("A", own), story.outcome("B", others)]).toEqual([
          n,
          "certified",
          "certified",
        ]);
        expect(stateOf(story, "B").voids).toEqual([]);
      }
    },
  );

  verifies("HIS-157", "of one liar's proposals, at whatever height, leave the others undisturbed", () => {
    const story = scenario(4);
    const liar = story.at("D");
    for (let i = 0; i < 66; i++) {
      const near = proposalOf(story, "D", `junk ${i}`);
      const core = {
        ...near.recordCore,
        action: { ...near.recordCore.action, height: 1_000_000 },
      } as Record.PostCore;
      const actionHash = Record.actionHashOf(core.action);
      const packet = {
        ...near,
        recordCore: { ...core, actionHash } as typeof near.recordCore,
        authorSignature: Statement.sign(liar.signer, {
          kind: "proposal",
          authorAgentId: liar.id,
          actionHash,
        }),
      };
      for (const name of ["A", "B", "C"]) {
        hand(story, name, "D", packet);
        hand(story, name, "D", withdrawalOf(story, "D", packet));
      }
      story.run(100);
    }
    down(story, "D");
    expect(stateOf(story, "A").voids.length).toBeGreaterThan(0);
    const posts = ["A", "B", "C"].map((name) => [name, story.say(name, `of ${name}`)] as const);
    story.run(20 * Limits.roundMsMin);
    for (const [name, post] of posts) expect(story.outcome(name, post)).toBe("certified");
  });

  verifies("HIS-156", "are said again to an author that goes on, when the proposal is void already", () => {
    const story = scenario(3, false);
    closed(story, "B");
    deaf(story, "A", "refusal");
    const post = story.say("A", "let me in");
    story.run(1_000);
    expect(story.outcome("A", post)).toBeNull();
    expect(stateOf(story, "B").voids).toHaveLength(1);
    hearing(story);
    story.run(10_000);
    expect(story.outcome("A", post)).toBe("refused");
  });

  verifies("HIS-156", "are said again to whoever repeats the proposal", () => {
    const story = scenario(4, false);
    closed(story, "A");
    const packet = proposalOf(story, "B", "let me in");
    hand(story, "A", "B", packet);
    const count = (): number =>
      story
        .at("A")
        .disk.outbox.flatMap(({ packets }) => packets)
        .filter(({ kind }) => kind === "refusal").length;
    expect(count()).toBe(1);
    hand(story, "A", "B", packet);
    expect(count()).toBe(2);
  });
});
