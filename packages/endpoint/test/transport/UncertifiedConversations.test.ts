// What an agent can make others keep by opening conversations that never come about: a bounded number of them.

import { expect } from "vitest";
import type * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Content from "@social-harness/protocol/history/Content";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import { actionVoteOf, durabilityVoteOf, subjectOf } from "@social-harness/protocol/history/VerifyRecord";
import type * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { PostId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { instanceOf } from "./ForgingRouter.ts";
import { openStranger, packed, type Stranger } from "./Stranger.ts";

const tooMany = "its sender has opened too many that are not certified";

/** The GENESIS of a conversation of the stranger with these agents. */
const genesisOf = ({ card }: Stranger, others: ReadonlyArray<AgentCard.AgentCard>, reader: NetworkAgent) => {
  const { membership, conversationId, membershipHash } = Membership.ofCards([card, ...others]);
  return Record.genesisCore(
    membership,
    {
      kind: "post_intent",
      conversationId,
      membershipHash,
      authorAgentId: card.agentId,
      postId: PostId.fromBytes(Buffer.alloc(32, 7)),
      content: Content.ofText("hello"),
    },
    {
      kind: "genesis_anchor",
      conversationId,
      membershipHash,
      round: 0,
      routerInstanceId: instanceOf(reader),
    },
  );
};

/** As its author proposes it; to one other agent with its own vote. */
const proposalOf = (
  { signer, card }: Stranger,
  core: Record.RecordCore,
  isDirect = false,
): CanonicalJson.Json => {
  const vote = actionVoteOf(subjectOf(Record.recordHashOf(core), core), card.agentId);
  return {
    kind: "proposal_packet",
    recordCore: core as CanonicalJson.Json,
    authorSignature: Statement.sign(signer, {
      kind: "proposal",
      authorAgentId: card.agentId,
      actionHash: core.actionHash,
    }),
    ...(isDirect
      ? { actionVote: { signerAgentId: card.agentId, signature: Statement.sign(signer, vote) } }
      : {}),
  };
};

/** As many different choices of one or more of these cards. */
const subsetsOf = (cards: ReadonlyArray<AgentCard.AgentCard>, count: number) =>
  Array.from({ length: count }, (_, i) => cards.filter((_card, bit) => ((i + 1) >> bit) % 2 === 1));

const openedBy = ({ db }: NetworkAgent, { card }: Stranger): number =>
  Number(db.get("SELECT count(*) AS n FROM conversation WHERE opened_by = ?", card.agentId)?.["n"]);

const notesOf = ({ lines }: NetworkAgent): ReadonlyArray<string> =>
  lines.flatMap(({ fields }) => (typeof fields["note"] === "string" ? [fields["note"]] : []));

verifies(
  "HIS-159",
  "one agent opens at most 64 conversations that are not certified, and another one once one of them is",
  async () => {
    const network = await testNetwork();
    let bob = await network.open("bob");
    const ann = await network.open("ann");
    const mal = await openStranger(network, "mal");
    const others = await Promise.all(
      Array.from({ length: 7 }, (_, i) => openStranger(network, `other-${i}`)),
    );
    const cards = others.map(({ card }) => card);
    const propose = async (more: ReadonlyArray<AgentCard.AgentCard>, copies = 1): Promise<void> => {
      const recipients = [bob.card, ...more];
      const proposal = proposalOf(mal, genesisOf(mal, recipients, bob), more.length === 0);
      await mal.shout(recipients, packed(Array.from({ length: copies }, () => proposal)));
    };
    /** All that was proposed has been taken in: so many are open, and so many envelopes were in vain. */
    const expectOpen = async (open: number, inVain: number): Promise<void> => {
      await until(
        `${open} are open and ${inVain} were in vain`,
        () => openedBy(bob, mal) >= open && notesOf(bob).length >= inVain,
      );
      expect([openedBy(bob, mal), notesOf(bob)]).toEqual([
        open,
        Array.from({ length: inVain }, () => tooMany),
      ]);
    };
    await propose([]);
    const max = Limits.uncertifiedPerOpenerMax;
    const groups = subsetsOf(cards, max + 3);
    for (const group of groups.slice(0, max - 1)) await propose(group);
    await expectOpen(max, 0);

    // One further is dropped, with a line for each envelope, however often it stands there; those that are open go on.
    const further = groups[max - 1] as (typeof groups)[number];
    await propose(further);
    await propose(further, 40);
    await propose(groups[0] as typeof further);
    await expectOpen(max, 2);
    // Nobody else is kept out by that, and what is counted outlives a restart.
    expect((await ann.send("agent:bob", "from ann")).status).toBe("certified");
    await bob.close();
    bob = await network.open("bob");
    await propose(further);
    await expectOpen(max, 1);

    // The direct one becomes certified: bob has voted, and now mal holds it too.
    const core = genesisOf(mal, [bob.card], bob);
    const statement = durabilityVoteOf(subjectOf(Record.recordHashOf(core), core), mal.card.agentId);
    const vote = { ...statement, signature: Statement.sign(mal.signer, statement) };
    const votes = { kind: "vote_packet", actionVotes: [], durabilityVotes: [vote], carryVotes: [] };
    await mal.shout([bob.card], packed([votes as CanonicalJson.Json]));
    await bob.untilItems(2);
    await propose(further);
    await propose(groups[max] as typeof further);
    await expectOpen(max + 1, 2);
    expect(bob.lines.filter(({ level }) => level === "error")).toEqual([]);
  },
);

verifies("HIS-159", "nobody opens a conversation of others, or beside its lane", async () => {
  const network = await testNetwork();
  const [ann, bob] = await network.openAll(["ann", "bob"]);
  await ann.send("agent:bob", "hello");
  await bob.untilItems(1);
  const mal = await openStranger(network, "mal");
  const cyd = await openStranger(network, "cyd");
  const foreign = proposalOf(cyd, genesisOf(cyd, [bob.card], bob), true);
  const own = proposalOf(mal, genesisOf(mal, [bob.card], bob), true);
  await mal.whisper(bob.card, packed([foreign]));
  await mal.shout([bob.card], packed([foreign]));
  await mal.whisper(bob.card, packed([own]));
  await mal.shout([bob.card, cyd.card], packed([own]));
  await until("bob has taken them", () => notesOf(bob).length >= 4);
  expect(notesOf(bob)).toEqual(
    Array.from({ length: 4 }, () => "of a conversation that this agent is not in"),
  );
  expect(bob.db.get("SELECT count(*) AS n FROM conversation")).toEqual({ n: 1 });
  await mal.shout([bob.card], packed([own]));
  await until("it is opened", () => openedBy(bob, mal) === 1);
  expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
});
