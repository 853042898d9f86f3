// What one envelope says about rounds counts once, and what a stranger says about them costs next to nothing.

import { expect } from "vitest";
import type * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import * as Content from "@social-harness/protocol/history/Content";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import { actionVoteOf, subjectOf } from "@social-harness/protocol/history/VerifyRecord";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { PostId } from "@social-harness/protocol/identity/Identifier";
import { latestOf } from "@social-harness/endpoint/transport/RoundWords";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { cursorOf, instanceOf } from "./ForgingRouter.ts";
import { openStranger, packed, type Stranger } from "./Stranger.ts";

verifies("HIS-171", "of one envelope's words of one signer about one conversation the latest counts", () => {
  const wish = (signerAgentId: string, conversationId: string, round: number): Packet =>
    ({ kind: "wish", signerAgentId, conversationId, round }) as Packet;
  const statement = (signerAgentId: string, conversationId: string, round: number): Packet =>
    ({ kind: "statement_packet", statement: { signerAgentId, conversationId, round } }) as Packet;
  const votes = { kind: "vote_packet" } as Packet;
  const packets = [
    wish("a", "x", 1),
    votes,
    wish("a", "x", 3),
    wish("b", "x", 2),
    statement("a", "x", 1),
    wish("a", "y", 0),
    wish("a", "x", 2),
    statement("a", "x", 1),
    votes,
  ];
  expect(latestOf(packets)).toEqual([
    votes,
    wish("a", "x", 3),
    wish("b", "x", 2),
    wish("a", "y", 0),
    statement("a", "x", 1),
    votes,
  ]);
});

const membersOf = ({ card }: Stranger, reader: NetworkAgent): Membership.Members =>
  Membership.ofCards([card, reader.card]);

const openingOf = (stranger: Stranger, reader: NetworkAgent): CanonicalJson.Json => {
  const { signer, card } = stranger;
  const { membership, conversationId, membershipHash } = membersOf(stranger, reader);
  const named = { conversationId, membershipHash };
  const core = Record.genesisCore(
    membership,
    {
      kind: "post_intent",
      ...named,
      authorAgentId: card.agentId,
      postId: PostId.fromBytes(Buffer.alloc(32, 7)),
      content: Content.ofText("hello"),
    },
    { kind: "genesis_anchor", ...named, round: 0, routerInstanceId: instanceOf(reader) },
  );
  const vote = actionVoteOf(subjectOf(Record.recordHashOf(core), core), card.agentId);
  return {
    kind: "proposal_packet",
    recordCore: core as CanonicalJson.Json,
    authorSignature: Statement.sign(signer, {
      kind: "proposal",
      authorAgentId: card.agentId,
      actionHash: core.actionHash,
    }),
    actionVote: { signerAgentId: card.agentId, signature: Statement.sign(signer, vote) },
  };
};

const wishesOf = (
  stranger: Stranger,
  reader: NetworkAgent,
  from: number,
  count: number,
): ReadonlyArray<CanonicalJson.Json> =>
  Array.from({ length: count }, (_, i) => {
    const wish = {
      kind: "wish" as const,
      signerAgentId: stranger.card.agentId,
      conversationId: membersOf(stranger, reader).conversationId,
      round: from + i,
      routerInstanceId: instanceOf(reader),
    };
    return { ...wish, signature: Statement.sign(stranger.signer, wish) };
  });

/** Thirty envelopes of wishes by a stranger who has opened with ann; a friend's posts go on meanwhile. */
const flood = async (isBlocked: boolean): Promise<{ readonly drawn: number; readonly seconds: number }> => {
  const network = await testNetwork();
  const ann = await network.open("ann", {
    contactPolicy: { contacts: "everyone", blocked: isBlocked ? ["mal" as AgentName] : [] },
  });
  await network.open("bob");
  const mal = await openStranger(network, "mal");
  await mal.shout([ann.card], packed([openingOf(mal, ann)]));
  await until("ann has answered", () => mal.deliveries.length >= 2);
  const wished = Array.from({ length: 30 }, (_, i) => packed(wishesOf(mal, ann, 1 + 100 * i, 100)));
  const own = (): number =>
    mal.deliveries.filter(({ envelope }) => envelope.senderAgentId === ann.card.agentId).length;
  const before = own();
  const cursor = cursorOf(ann);
  const begun = Date.now();
  const sending = (async () => {
    for (const plaintext of wished) await mal.shout([ann.card], plaintext);
  })();
  for (let i = 0; i < 3; i++) expect((await ann.send("agent:bob", `post ${i}`)).status).toBe("certified");
  await sending;
  await until("ann has taken them all", () => cursorOf(ann) >= cursor + wished.length);
  const seconds = Math.ceil((Date.now() - begun) / 1_000);
  // What was waiting is followed within a second.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(ann.lines.filter(({ level }) => level === "error")).toEqual([]);
  return { drawn: own() - before, seconds };
};

verifies("HIS-173", "a stranger who is kept out draws nothing with wishes, and delays nobody", async () => {
  expect((await flood(true)).drawn).toBe(0);
});

verifies(["HIS-171", "HIS-172"], "one who is let in draws at most two words a second", async () => {
  const { drawn, seconds } = await flood(false);
  expect(drawn).toBeGreaterThan(0);
  expect(drawn).toBeLessThanOrEqual(2 * (seconds + 2));
});
