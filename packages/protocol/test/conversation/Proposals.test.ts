// What a member believes of a proposal: every single defect makes it as if it had never come.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { createAgents } from "@social-harness/testkit/simulation/Agents";
import { genesisAnchorOf, intentOf, postIdOf } from "@social-harness/testkit/simulation/Certify";
import type { PacketOf } from "@social-harness/protocol/conversation/Packet";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import {
  ActionHash,
  AnchorHash,
  ConversationId,
  MembershipHash,
  RecordHash,
  RouterInstanceId,
} from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { nextRound } from "./RoundStories.ts";
import { hand, proposalOf, scenario, type Scenario } from "./Scenario.ts";

type Proposal = PacketOf<"proposal_packet">;
const strange = Buffer.alloc(32, 0x5a);

const resigned = (story: Scenario, author: string, recordCore: Record.RecordCore): Proposal => {
  const { id, signer } = story.at(author);
  const statement = { kind: "proposal" as const, authorAgentId: id, actionHash: recordCore.actionHash };
  return { kind: "proposal_packet", recordCore, authorSignature: Statement.sign(signer, statement) };
};

/** The proposal with another action, its hashes recomputed and signed again. */
const recast = (
  story: Scenario,
  author: string,
  packet: Proposal,
  change: Partial<Record.PostAction>,
): Proposal => {
  const core = packet.recordCore as Record.PostCore;
  const action = { ...core.action, ...change };
  return resigned(story, author, {
    ...core,
    membershipHash: action.membershipHash,
    anchorHash: action.anchorHash,
    action,
    actionHash: Record.actionHashOf(action),
  });
};

const held = (story: Scenario, name: string): number => story.at(name).disk.state.open.length;

describe("a proposal is as if it had never come", () => {
  const fresh = (): { story: Scenario; packet: Proposal } => {
    const story = scenario(4);
    return { story, packet: proposalOf(story, "B", "hello") };
  };

  verifies("HIS-21", "unless nothing is wrong with it", () => {
    const { story, packet } = fresh();
    hand(story, "A", "B", packet);
    expect(held(story, "A")).toBe(1);
    expect(story.at("A").disk.state.slot.actionVote).not.toBeNull();
    expect(story.notes()).toEqual([]);
  });

  verifies("HIS-35", "outside the conversation's lane", () => {
    const { story, packet } = fresh();
    hand(story, "A", "B", packet, null);
    expect(held(story, "A")).toBe(0);
    expect(story.notes()).toHaveLength(1);
    hand(story, "A", "B", packet, 4);
    expect(story.at("A").disk.state.slot.lock).not.toBeNull();
  });

  verifies(
    ["HIS-21", "HIS-78"],
    "for the lock, from another than its author before any round has a leader",
    () => {
      const { story, packet } = fresh();
      hand(story, "A", "C", packet, 5);
      const { open, slot } = story.at("A").disk.state;
      expect(open).toMatchObject([{ laneSequence: null, relays: { [story.at("C").id]: 5 } }]);
      expect(slot.lock).toBeNull();
      hand(story, "A", "B", packet, 6);
      expect(story.at("A").disk.state.slot.lock).toBe(open[0]?.recordHash);
    },
  );

  verifies("HIS-46", "from an agent that is no member", () => {
    const { story, packet } = fresh();
    const [stranger] = createAgents(1, "stranger", false).agents;
    story.world.feed(0, { kind: "packet", from: stranger?.card.agentId as never, laneSequence: 3, packet });
    expect(held(story, "A")).toBe(0);
    expect(story.notes()).toEqual(["A: a packet came from an agent that is not a member"]);
  });

  const changes: ReadonlyArray<[string, (story: Scenario, packet: Proposal) => Proposal]> = [
    [
      "whose signature is another member's",
      (story, packet) => ({
        ...packet,
        authorSignature: resigned(story, "C", packet.recordCore).authorSignature,
      }),
    ],
    [
      "signed over another action",
      (story, packet) => ({ ...packet, authorSignature: proposalOf(story, "B", "other").authorSignature }),
    ],
    [
      "whose action hash does not recompute",
      (_, packet) => ({
        ...packet,
        recordCore: { ...packet.recordCore, actionHash: ActionHash.fromBytes(strange) } as Record.PostCore,
      }),
    ],
    [
      "whose anchor hash does not recompute",
      (_, packet) => ({
        ...packet,
        recordCore: { ...packet.recordCore, anchorHash: AnchorHash.fromBytes(strange) } as Record.PostCore,
      }),
    ],
    [
      "whose content is another than its hash says",
      (_, packet) => {
        const core = packet.recordCore as Record.PostCore;
        const postIntent = { ...core.action.postIntent, content: [{ type: "text", text: "bye" }] as never };
        return { ...packet, recordCore: { ...core, action: { ...core.action, postIntent } } };
      },
    ],
    [
      "of another membership",
      (story, packet) => {
        const membershipHash = MembershipHash.fromBytes(strange);
        const postIntent = { ...packet.recordCore.action.postIntent, membershipHash };
        return recast(story, "B", packet, {
          membershipHash,
          postIntent,
          postIntentHash: Record.postIntentHashOf(postIntent),
        });
      },
    ],
    [
      "of another conversation",
      (story, packet) => {
        const conversationId = ConversationId.fromBytes(strange);
        const postIntent = { ...packet.recordCore.action.postIntent, conversationId };
        return recast(story, "B", packet, {
          conversationId,
          postIntent,
          postIntentHash: Record.postIntentHashOf(postIntent),
        });
      },
    ],
    [
      "on another predecessor than the head",
      (story, packet) => recast(story, "B", packet, { previousRecordHash: RecordHash.fromBytes(strange) }),
    ],
  ];
  for (const [what, change] of changes) {
    verifies("HIS-21", what, () => {
      const { story, packet } = fresh();
      hand(story, "A", "B", change(story, packet));
      expect(held(story, "A")).toBe(0);
      expect(story.at("A").disk.ownVotes).toEqual([]);
      expect(story.notes()).toHaveLength(1);
    });
  }

  verifies("HIS-21", "at or below the head, without a word", () => {
    const { story } = fresh();
    const old = proposalOf(story, "B", "old");
    story.say("A", "hello");
    story.run();
    hand(story, "A", "B", old);
    expect(held(story, "A")).toBe(0);
    expect(story.notes()).toEqual([]);
  });

  verifies("HIS-21", "under another anchor than the accepted one: it takes no lock", () => {
    const { story, packet } = fresh();
    hand(story, "A", "B", recast(story, "B", packet, { anchorHash: AnchorHash.fromBytes(strange) }));
    expect(story.at("A").disk.state.slot.lock).toBeNull();
  });

  verifies(["HIS-21", "HIS-91"], "under the anchor of a round that is over", () => {
    const { story, packet } = fresh();
    nextRound(story);
    hand(story, "A", "B", packet);
    expect(held(story, "A")).toBe(0);
    expect(story.notes()).toEqual(["A: a proposal names a round that is over"]);
  });

  verifies(["HIS-13", "HIS-21"], "that repeats a certified post, with the same intent or another", () => {
    const { story } = fresh();
    const postId = story.say("B", "once");
    story.run();
    hand(story, "A", "B", proposalOf(story, "B", "once", { postId }));
    hand(story, "A", "B", proposalOf(story, "B", "twice", { postId }));
    expect(held(story, "A")).toBe(0);
    // The same id of another author is another post.
    hand(story, "A", "C", proposalOf(story, "C", "once", { postId }));
    expect(held(story, "A")).toBe(1);
  });

  verifies("HIS-13", "that gives a waiting post's id to another intent", () => {
    const { story } = fresh();
    const postId = postIdOf("the same");
    hand(story, "A", "B", proposalOf(story, "B", "one", { postId }));
    hand(story, "A", "B", proposalOf(story, "B", "two", { postId }));
    expect(held(story, "A")).toBe(1);
  });
});

describe("a GENESIS", () => {
  verifies(
    ["HIS-21", "HIS-06", "HIS-79"],
    "takes the lock only under the Router that this member is bound to, and in a round that has begun",
    () => {
      const story = scenario(3, false);
      const { world } = story;
      const { id } = story.at("B");
      const intent = intentOf(world, id, postIdOf("genesis"), "hello");
      const genesis = (anchor: Record.Anchor): Proposal =>
        resigned(story, "B", Record.genesisCore(world.members.membership, intent, anchor));
      const anchor = genesisAnchorOf(world);
      hand(
        story,
        "A",
        "B",
        genesis({ ...anchor, routerInstanceId: RouterInstanceId.fromBytes(Buffer.alloc(16, 1)) }),
      );
      expect(held(story, "A")).toBe(1);
      hand(story, "A", "B", genesis({ ...anchor, round: 1 }));
      expect(story.notes()).toHaveLength(1);
      const { conversationId, membershipHash, routerInstanceId } = anchor;
      hand(
        story,
        "A",
        "B",
        genesis({
          kind: "reanchor_body",
          conversationId,
          membershipHash,
          round: 1,
          routerInstanceId,
          previousAnchorHash: null,
          baseRecordHash: null,
          carriedRecordHash: null,
        }),
      );
      expect(held(story, "A")).toBe(2);
      expect(story.at("A").disk.state).toMatchObject({ anchor: null, slot: { lock: null } });
      hand(story, "A", "B", genesis(anchor));
      expect(story.at("A").disk.state.slot.lock).not.toBeNull();
    },
  );
});

describe("a proposal ahead of its time", () => {
  const ahead = (story: Scenario, author: string, height: number, text: string): Proposal =>
    proposalOf(story, author, text, {
      position: { height, previousRecordHash: RecordHash.fromBytes(strange) },
    });

  verifies("HIS-24", "is kept, at most four of one author, and the others' places are their own", () => {
    const story = scenario(4);
    for (let i = 0; i < 6; i++) hand(story, "A", "B", ahead(story, "B", 2 + i, `b${i}`), 10 + i);
    expect(held(story, "A")).toBe(Limits.candidatesPerAuthorMax);
    expect(story.notes()).toEqual([
      "A: an author has too many open proposals",
      "A: an author has too many open proposals",
    ]);
    hand(story, "A", "C", ahead(story, "C", 3, "c"), 30);
    expect(held(story, "A")).toBe(Limits.candidatesPerAuthorMax + 1);
    expect(story.at("A").disk.cores.size).toBe(Limits.candidatesPerAuthorMax + 1);
    expect(story.at("A").disk.state.slot.lock).toBeNull();
  });

  verifies(["HIS-82", "HIS-24"], "is forgotten when its own post is certified below it", () => {
    const story = scenario(3);
    const postId = postIdOf("twice");
    const first = proposalOf(story, "B", "twice", { postId });
    const position = { height: 2, previousRecordHash: Record.recordHashOf(first.recordCore) };
    const again = proposalOf(story, "B", "twice", { postId, position });
    for (const name of ["A", "B", "C"]) {
      hand(story, name, "B", first, 1);
      hand(story, name, "B", again, 2);
    }
    story.run(60_000);
    expect(story.chains()).toEqual([["B: twice"], ["B: twice"], ["B: twice"]]);
    for (const { disk } of story.world.all) expect(disk.state.open).toEqual([]);
  });

  verifies(
    "HIS-24",
    "is forgotten when another record is certified in its predecessor's place, or at its height",
    () => {
      const story = scenario(3);
      hand(story, "A", "B", ahead(story, "B", 2, "of another chain"), 10);
      hand(story, "A", "B", ahead(story, "B", 9, "far away"), 11);
      story.say("A", "hello");
      story.run(60_000);
      expect(story.at("A").disk.state.open.map(({ height }) => height)).toEqual([9]);
      expect(story.at("A").disk.cores.size).toBe(1);
    },
  );
});
