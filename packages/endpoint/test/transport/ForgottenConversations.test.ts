// What an agent does about words of conversations that it does not know: it asks their sender, once an envelope, and believes
// nothing but its own vote.

import { expect } from "vitest";
import type * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import { actionVoteOf, subjectOf } from "@social-harness/protocol/history/VerifyRecord";
import { PostId, type RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import * as LostMemory from "../../src/conversations/LostMemory.ts";
import * as Settings from "../../src/store/Settings.ts";
import { openStranger, packed, type Stranger } from "./Stranger.ts";

type Json = CanonicalJson.Json;

const conversationsOf = ({ db }: NetworkAgent): number =>
  Number(db.get("SELECT count(*) AS n FROM conversation")?.["n"]);

const questionsTo = (mal: Stranger): number =>
  mal.received().filter((text) => text.includes('"catch_up_request"')).length;

const wishOf = ({ signer, card }: Stranger, { db }: NetworkAgent, members: Membership.Members): Json => {
  const wish = {
    kind: "wish" as const,
    signerAgentId: card.agentId,
    conversationId: members.conversationId,
    round: 1,
    routerInstanceId: Settings.text(db, "router_instance_id") as RouterInstanceId,
  };
  return { ...wish, signature: Statement.sign(signer, wish) };
};

verifies(
  "HIS-176",
  "a stranger's words are asked about, of itself alone, and make nothing here",
  async () => {
    const network = await testNetwork();
    const bob = await network.open("bob");
    const cyd = await openStranger(network, "cyd");
    const mal = await openStranger(network, "mal");
    await until("bob is connected", () => bob.agent.link.mayEnqueue());
    const members = Membership.ofCards([bob.card, cyd.card, mal.card]);
    const wish = wishOf(mal, bob, members);

    // Many words of one envelope are one question; those of another conversation than the recipients' are none.
    await mal.shout([bob.card, cyd.card], packed([wish, wish, wish]));
    await until("it is asked", () => questionsTo(mal) === 1);
    await mal.shout([bob.card], packed([wish]));
    await mal.whisper(bob.card, packed([wish]));
    const question = { kind: "catch_up_request", conversationId: members.conversationId };
    await mal.shout(
      [bob.card, cyd.card],
      packed([{ ...question, knownAnchorHash: null, knownRecordHash: null }]),
    );

    // A page with a GENESIS that bob never voted for, be his vote missing or another's signature.
    const anchor = {
      kind: "genesis_anchor" as const,
      conversationId: members.conversationId,
      membershipHash: members.membershipHash,
      round: 0,
      routerInstanceId: Settings.text(bob.db, "router_instance_id") as RouterInstanceId,
    };
    const intent = {
      kind: "post_intent" as const,
      conversationId: members.conversationId,
      membershipHash: members.membershipHash,
      authorAgentId: mal.card.agentId,
      postId: PostId.fromBytes(Buffer.alloc(32, 7)),
      content: [{ type: "text", text: "remember?" }] as const,
    };
    const core = Record.genesisCore(members.membership, intent, anchor);
    const vote = actionVoteOf(subjectOf(Record.recordHashOf(core), core), bob.card.agentId);
    const forged = { signerAgentId: bob.card.agentId, signature: Statement.sign(mal.signer, vote) };
    for (const actionSignatures of [[], [forged]]) {
      const item = {
        kind: "certified_record",
        recordCore: core,
        routerAnchor: anchor,
        durabilityAnchor: null,
        actionSignatures,
        durabilityVotes: [],
      };
      const page = {
        kind: "catch_up_page",
        conversationId: members.conversationId,
        afterRecordHash: null,
        items: [item],
        hasMore: false,
      };
      await mal.whisper(bob.card, packed([page as unknown as Json]));
    }
    await mal.shout([bob.card, cyd.card], packed([wish]));
    await until("it is asked once more", () => questionsTo(mal) === 2);
    expect(questionsTo(cyd)).toBe(1);
    expect([conversationsOf(bob), LostMemory.notedAt(bob.db)]).toEqual([0, null]);
  },
);
