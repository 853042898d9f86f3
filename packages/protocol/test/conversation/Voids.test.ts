// Refusals as they are believed, and what enough of them prove: a void record, its slot free again.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as Limits from "@social-harness/protocol/Limits";
import { deaf, down, hand, hearing, proposalOf, type Scenario } from "./Scenario.ts";
import { closed, refusalOf, scenario, stateOf, withdraw, withdrawalOf } from "./RefusalStories.ts";

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
    // D lies by hand, which the oracles would take for the word of an honest member.
    const story = scenario(4, true, false);
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
