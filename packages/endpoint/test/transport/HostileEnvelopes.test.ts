import { expect } from "vitest";
import type * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Content from "@social-harness/protocol/history/Content";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import { actionVoteOf, durabilityVoteOf, subjectOf } from "@social-harness/protocol/history/VerifyRecord";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { AgentCardDigest, PostId, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import { seedOf } from "@social-harness/testkit/network/Network";
import { identityOf, type NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { cursorOf, deliveryOf, instanceOf } from "./ForgingRouter.ts";
import { openStranger, packed, type Stranger } from "./Stranger.ts";

type Json = CanonicalJson.Json;

const canary = "canary-4711";

/** Everything that was sent has been taken in, nothing of it as a defect, and no word of it stands in the log. */
const expectUnharmed = async (agent: NetworkAgent, cursorMin: number): Promise<void> => {
  await until(`${agent.name} has taken everything`, () => cursorOf(agent) >= cursorMin);
  expect(agent.lines.filter(({ level }) => level === "error")).toEqual([]);
  expect(JSON.stringify(agent.lines)).not.toContain(canary);
};

const genesisOf = (
  author: AgentCard.AgentCard,
  members: Membership.Members,
  routerInstanceId: RouterInstanceId,
): Record.RecordCore =>
  Record.genesisCore(
    members.membership,
    {
      kind: "post_intent",
      conversationId: members.conversationId,
      membershipHash: members.membershipHash,
      authorAgentId: author.agentId,
      postId: PostId.fromBytes(Buffer.alloc(32, 7)),
      content: Content.ofText(canary),
    },
    {
      kind: "genesis_anchor",
      conversationId: members.conversationId,
      membershipHash: members.membershipHash,
      round: 0,
      routerInstanceId,
    },
  );

/** A direct proposal as a true member would make it, over any core. */
const proposalOf = ({ signer, card }: Stranger, core: Record.RecordCore): Json => {
  const subject = subjectOf(Record.recordHashOf(core), core);
  return {
    kind: "proposal_packet",
    recordCore: core as Json,
    authorSignature: Statement.sign(signer, {
      kind: "proposal",
      authorAgentId: card.agentId,
      actionHash: core.actionHash,
    }),
    actionVote: {
      signerAgentId: card.agentId,
      signature: Statement.sign(signer, actionVoteOf(subject, card.agentId)),
    },
  };
};

const scene = async (): Promise<{
  readonly network: TestNetwork;
  readonly ann: NetworkAgent;
  readonly bob: NetworkAgent;
  readonly mal: Stranger;
}> => {
  const network = await testNetwork();
  const [ann, bob] = await network.openAll(["ann", "bob"]);
  await ann.send("agent:bob", "hello");
  await bob.untilItems(1);
  await until("bob is done", () => cursorOf(bob) >= 2);
  return { network, ann, bob, mal: await openStranger(network, "mal") };
};

verifies(
  ["FND-04", "FND-05"],
  "plaintexts that are none, C75: 190,000 deep or 190,000 packets, cost one log line each",
  async () => {
    const { network, ann, bob, mal } = await scene();
    const deep = (depth: number): string =>
      `{"packets":[${"[".repeat(depth)}${"]".repeat(depth)}],"seen":null}`;
    const plaintexts: ReadonlyArray<string | Uint8Array> = [
      " ",
      canary,
      Buffer.from([0xff, 0xfe, 0x00]),
      "null",
      "[]",
      "{}",
      '{"packets":[],"seen":null}',
      `{"packets":["${canary}"],"seen":null}`,
      `{"packets":[{"kind":"${canary}"}],"seen":null}`,
      `{"packets":[{"kind":"__proto__"}],"seen":null}`,
      `{"packets":[{"kind":"catch_up_request"}],"seen":null}`,
      `{"packets": [0],"seen":null}`,
      '{"packets":[0],"packets":[0],"seen":null}',
      `{"packets":[0],"seen":"${canary}"}`,
      '{"packets":[0],"seen":{}}',
      `{"extra":0,"packets":[0],"seen":null}`,
      packed([`${canary}\n`.repeat(20_000)]),
      deep(22),
      deep(10_000),
      deep(189_980),
      packed(Array.from({ length: 189_000 }, () => 0)),
      `{"packets":[0],"seen":null}${" ".repeat(2_000)}`,
      Buffer.alloc(380_000, 0x20),
    ];
    const before = cursorOf(bob);
    for (const plaintext of plaintexts) {
      expect((await mal.whisper(bob.card, plaintext)).kind).toBe("accepted");
    }
    await expectUnharmed(bob, before + plaintexts.length);
    const warnings = bob.lines.filter(({ level }) => level === "warn");
    expect(warnings.length).toBeGreaterThanOrEqual(plaintexts.length - 1);
    expect(warnings.length).toBeLessThanOrEqual(2 * plaintexts.length);
    expect((await ann.send("agent:bob", "still here")).status).toBe("certified");
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  "HIS-49",
  "envelopes that lie about their sender, or that do not open, are passed over, also when the Router lets them through",
  async () => {
    const { network, ann, bob, mal } = await scene();
    const before = cursorOf(bob);
    const lie = { senderCardDigest: AgentCardDigest.fromBytes(Buffer.alloc(32)) };
    expect((await mal.whisper(bob.card, packed([0]), lie)).kind).toBe("rejected");
    const other = identityOf("somebody else");
    await mal.whisper(bob.card, packed([0]));
    await mal.whisper({ ...bob.card, sealingKey: other.sealingKey }, packed([0]));
    await expectUnharmed(bob, before + 2);
    const notes = () => bob.lines.flatMap(({ fields }) => fields["note"] ?? []);
    await until("both are noted", () => notes().length === 2);
    const forged = [
      mal.written(bob.card, packed([0]), lie),
      mal.written(bob.card, packed([0]), {
        senderAgentId: ann.card.agentId,
        senderCardDigest: AgentCard.digestOf(ann.card),
      }),
    ];
    for (const text of forged) {
      const cursor = cursorOf(bob);
      await bob.agent.link.onDeliver(deliveryOf(network, bob, text));
      await until("it is taken", () => cursorOf(bob) > cursor);
    }
    expect(notes()).toEqual([
      "no known closed shape",
      "it does not open",
      "it names another card of its sender",
      "its signature does not verify",
    ]);
    expect(bob.lines.filter(({ level }) => level === "error")).toEqual([]);
  },
);

verifies(
  ["HIS-35", "HIS-46"],
  "packets about a conversation of others change nothing and are not answered",
  async () => {
    const { network, ann, bob, mal } = await scene();
    const [record] = await bob.history("agent:ann");
    if (record === undefined) throw new Error("there is no history");
    const { conversationId } = record.recordCore.action;
    const subject = subjectOf(record.recordHash, record.recordCore);
    const signer = { signerAgentId: mal.card.agentId };
    const vote = {
      ...signer,
      signature: Statement.sign(mal.signer, durabilityVoteOf(subject, mal.card.agentId)),
    };
    const { anchorHash, actionHash, recordHash } = subject;
    const packets: ReadonlyArray<Json> = [
      { kind: "catch_up_request", conversationId, knownRecordHash: null, knownAnchorHash: null },
      { kind: "record_request", conversationId, recordHash },
      {
        kind: "action_certificate",
        conversationId,
        recordHash,
        actionHash,
        height: 1,
        previousRecordHash: recordHash,
        anchorHash,
        signatures: [vote],
        durabilityVote: vote,
      },
      {
        kind: "certified_notice",
        conversationId,
        recordHash,
        height: 7,
        durabilityAnchorHash: anchorHash,
        actionSignatures: [vote],
        durabilityVotes: [vote],
      },
      { kind: "catch_up_page", conversationId, afterRecordHash: null, items: [], hasMore: true },
      proposalOf(mal, record.recordCore),
    ];
    const before = cursorOf(bob);
    for (const packet of packets) {
      await mal.whisper(bob.card, packed([packet]));
      await mal.shout([bob.card], packed([packet]));
    }
    await expectUnharmed(bob, before + 2 * packets.length);
    expect((await ann.send("agent:bob", "still here")).status).toBe("certified");
    expect(mal.received()).toHaveLength(packets.length);
    expect(mal.deliveries.every(({ envelope }) => envelope.senderAgentId === mal.card.agentId)).toBe(true);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-49", "HIS-21"],
  "a GENESIS with another card of this agent, another Router instance or a false hash is not voted for",
  async () => {
    const { network, ann, bob, mal } = await scene();
    const before = cursorOf(bob);
    const registry = Ed25519.signerFromSeed(seedOf("registry"));
    const { signer } = identityOf("bob");
    const later = AgentCard.issue(
      registry,
      bob.card,
      AgentCard.signKeys(signer, bob.card),
      "2030-01-01T00:00:00Z" as AgentCard.Timestamp,
    );
    const own = Membership.ofCards([mal.card, bob.card]);
    const elsewhere = RouterInstanceId.fromBytes(Buffer.alloc(16, 9));
    const good = genesisOf(mal.card, own, instanceOf(bob));
    const cores = [
      genesisOf(mal.card, Membership.ofCards([mal.card, later]), instanceOf(bob)),
      genesisOf(mal.card, Membership.ofCards([mal.card, ann.card]), instanceOf(bob)),
      genesisOf(mal.card, own, elsewhere),
      {
        ...good,
        actionHash: Record.actionHashOf({
          ...good.action,
          height: 0,
          authorAgentId: ann.card.agentId,
        } as Record.GenesisAction),
      } as Record.RecordCore,
    ];
    for (const core of cores) await mal.shout([bob.card], packed([proposalOf(mal, core)]));
    await expectUnharmed(bob, before + cores.length);
    expect(mal.received()).toHaveLength(cores.length);
    expect(
      bob.db.get(
        "SELECT count(*) AS n FROM own_vote WHERE record_hash NOT IN (SELECT record_hash FROM record)",
      ),
    ).toEqual({ n: 0 });
    // The true one is: nothing that came before it has taken its place.
    await mal.shout([bob.card], packed([proposalOf(mal, good)]));
    await until("bob has voted", () => mal.received().length === cores.length + 2);
    expect(mal.received().at(-1)).toContain("durabilityVotes");
    expect(bob.items()).toHaveLength(1);
    expect((await ann.send("agent:bob", "still here")).status).toBe("certified");
    expect(network.registryKey).toBe(registry.publicKey);
  },
);

verifies("HIS-68", "an envelope full of questions draws a few answers, not thousands", async () => {
  const { ann, bob, mal } = await scene();
  const own = Membership.ofCards([mal.card, bob.card]);
  const core = genesisOf(mal.card, own, instanceOf(bob));
  await mal.shout([bob.card], packed([proposalOf(mal, core)]));
  await until("bob has voted", () => mal.received().length === 2);
  const before = cursorOf(bob);
  const question: Json = {
    kind: "record_request",
    conversationId: own.conversationId,
    recordHash: Record.recordHashOf(core),
  };
  const questions = packed(Array.from({ length: 1_500 }, () => question));
  await mal.whisper(bob.card, questions);
  await expectUnharmed(bob, before + 1);
  await until("the answers have left", () => bob.db.get("SELECT 1 FROM outbox") === undefined);
  const answers = (): number => mal.received().join("").split('"record_response"').length - 1;
  expect(answers()).toBeGreaterThan(0);
  expect(answers()).toBeLessThanOrEqual(4);
  // Many such envelopes at once: what waits to be sent stays bounded, and so does what others wait behind.
  const longest = { waiting: 0 };
  const flood = Promise.all(Array.from({ length: 40 }, () => mal.whisper(bob.card, questions)));
  await until("they are taken", () => {
    const { waiting } = bob.db.get("SELECT count(*) AS waiting FROM outbox") as { waiting: number };
    longest.waiting = Math.max(longest.waiting, waiting);
    return cursorOf(bob) >= before + 41;
  });
  await flood;
  expect(longest.waiting).toBeLessThanOrEqual(36);
  expect((await ann.send("agent:bob", "still here")).status).toBe("certified");
});

verifies(
  "HIS-70",
  "thousands of votes and packets that come to nothing cost a line or two an envelope, not one each",
  async () => {
    const { ann, bob, mal } = await scene();
    const own = Membership.ofCards([mal.card, bob.card]);
    const core = genesisOf(mal.card, own, instanceOf(bob));
    await mal.shout([bob.card], packed([proposalOf(mal, core)]));
    await until("bob has voted", () => mal.received().length === 2);
    const subject = subjectOf(Record.recordHashOf(core), core);
    const untrue = {
      ...durabilityVoteOf(subject, mal.card.agentId),
      signature: Statement.sign(mal.signer, actionVoteOf(subject, mal.card.agentId)),
    };
    const votes: Json = {
      kind: "vote_packet",
      actionVotes: [],
      durabilityVotes: Array.from({ length: 100 }, () => untrue),
      carryVotes: [],
    };
    const misplaced = proposalOf(mal, core);
    const plaintext = packed([votes, votes, votes, ...Array.from({ length: 50 }, () => misplaced)]);
    const before = cursorOf(bob);
    const linesBefore = bob.lines.length;
    for (let count = 0; count < 5; count++) await mal.whisper(bob.card, plaintext);
    await expectUnharmed(bob, before + 5);
    const notes = bob.lines.slice(linesBefore);
    expect(notes.length).toBeGreaterThan(0);
    expect(notes.length).toBeLessThanOrEqual(10);
    expect(notes.reduce((sum, { fields }) => sum + Number(fields["times"]), 0)).toBe(5 * 350);
    expect((await ann.send("agent:bob", "still here")).status).toBe("certified");
  },
);
