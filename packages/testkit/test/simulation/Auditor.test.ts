// That the auditor and the signature oracle see what they are there for: each law, broken by hand, is named.

import { describe, expect, test } from "vitest";
import { initial, noRounds, type State } from "@social-harness/protocol/conversation/State";
import type { CompletedReanchor, HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import { actionVoteOf, durabilityVoteOf, subjectOf } from "@social-harness/protocol/history/VerifyRecord";
import type { AgentId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { createAgents } from "@social-harness/testkit/simulation/Agents";
import { createAuditor } from "@social-harness/testkit/simulation/Auditor";
import { certifiedBy, genesisAnchorOf, intentOf, postIdOf } from "@social-harness/testkit/simulation/Certify";
import type { Command } from "@social-harness/protocol/conversation/Command";
import { blank, type Disk, type OwnVote } from "@social-harness/testkit/simulation/Disk";
import { type Committed, createWorld, type Member } from "@social-harness/testkit/simulation/FoldWorld";
import { askHearsay } from "@social-harness/testkit/simulation/Hearsay";
import { createSignatures } from "@social-harness/testkit/simulation/Signatures";

const { agents, registry, verifier } = createAgents(4, "audited", false);
const world = createWorld({ agents, trust: { verifier, registryKey: registry.publicKey } });
const { all, members, routerInstanceId } = world;
const author = all[0] as Member;
const { conversationId, membershipHash } = members;
const { askRecord: audit } = createAuditor({ ids: members.ids, byzantine: new Set(), made: () => true });

const genesisAnchor = genesisAnchorOf(world);
const genesisCore = Record.genesisCore(
  members.membership,
  intentOf(world, author.id, postIdOf("genesis"), "genesis"),
  genesisAnchor,
);
const genesis = certifiedBy(all, genesisCore, genesisAnchor);
const postCore = (
  label: string,
  height: number,
  below: RecordHash,
  anchor: Record.Anchor,
): Record.RecordCore =>
  Record.postCore(intentOf(world, author.id, postIdOf(label), label), {
    height,
    previousRecordHash: below,
    anchorHash: Record.anchorHashOf(anchor),
  });
const post = certifiedBy(all, postCore("one", 1, genesis.recordHash, genesisAnchor), genesisAnchor);

type Prepared = Statement.ReanchorStatement["prepared"];

const reanchor = (
  round: number,
  base: HistoryRecord | null,
  prepared: Prepared,
  more: Partial<Record.ReanchorBody> = {},
): CompletedReanchor => {
  const head = base === null ? null : { recordHash: base.recordHash, height: base.recordCore.action.height };
  const body: Record.ReanchorBody = {
    kind: "reanchor_body",
    conversationId,
    membershipHash,
    round,
    routerInstanceId,
    previousAnchorHash: base?.recordCore.anchorHash ?? null,
    baseRecordHash: base?.recordHash ?? null,
    carriedRecordHash: prepared?.recordHash ?? null,
    ...more,
  };
  const statements = all.slice(0, 3).map(({ id, signer }) => {
    const statement: Statement.ReanchorStatement = {
      kind: "reanchor_statement",
      signerAgentId: id,
      conversationId,
      membershipHash,
      round,
      routerInstanceId,
      head,
      prepared,
    };
    return { ...statement, signature: Statement.sign(signer, statement) };
  });
  return { kind: "completed_reanchor", body, statements };
};

/** A record of a later round, with votes by everybody. */
const later = (label: string, below: HistoryRecord, anchor: CompletedReanchor): HistoryRecord => {
  const core = postCore(label, below.recordCore.action.height + 1, below.recordHash, anchor.body);
  return { ...certifiedBy(all, core, genesisAnchor), routerAnchor: anchor };
};

describe("an auditor", () => {
  verifies("HIS-60", "takes a true chain, across a round as well", () => {
    audit(genesis, []);
    audit(post, [genesis]);
    audit(later("two", post, reanchor(1, post, null)), [genesis, post]);
    const carried = { recordHash: post.recordHash, height: 1, round: 0 };
    const durabilityAnchor = reanchor(1, genesis, carried);
    audit({ ...post, durabilityAnchor }, [genesis]);
    audit(later("two", post, durabilityAnchor), [genesis, { ...post, durabilityAnchor }]);
  });

  const refuses = (
    title: string,
    record: HistoryRecord,
    below: ReadonlyArray<HistoryRecord>,
    law: RegExp,
  ): void => test(title, () => expect(() => audit(record, below)).toThrow(law));

  const two = later("two", post, reanchor(2, post, null));
  const chain = [genesis, post, two];
  const [first, ...others] = post.actionSignatures;
  refuses(
    "too few votes",
    { ...post, durabilityVotes: post.durabilityVotes.slice(0, 2) },
    [genesis],
    /too few durability/,
  );
  refuses(
    "votes twice",
    { ...post, actionSignatures: [first, first, ...others] as never },
    [genesis],
    /repeated/,
  );
  refuses(
    "a record without its author's vote",
    {
      ...post,
      actionSignatures: post.actionSignatures.filter(({ signerAgentId }) => signerAgentId !== author.id),
    },
    [genesis],
    /without its author/,
  );
  refuses(
    "another predecessor",
    post,
    [{ ...genesis, recordHash: post.recordHash }],
    /another than its predecessor/,
  );
  refuses("rounds that fall", later("three", two, reanchor(1, post, null)), chain, /rounds fall/);
  refuses(
    "a genesis anchor after a round",
    later("x", two, reanchor(3, null, null)),
    chain,
    /does not begin right above/,
  );
  refuses(
    "one round with two anchors",
    later("three", two, reanchor(2, two, null)),
    chain,
    /one round has two anchors/,
  );
  refuses(
    "a round that begins below what is certified",
    later("three", two, reanchor(3, post, null)),
    chain,
    /right above/,
  );
  refuses(
    "a carried record that does not follow its base",
    later("three", two, reanchor(3, post, { recordHash: genesis.recordHash, height: 2, round: 0 })),
    chain,
    /does not follow its base/,
  );
  refuses(
    "a body that its statements do not decide",
    later("three", two, reanchor(3, two, null, { carriedRecordHash: post.recordHash })),
    chain,
    /carries another record/,
  );
  refuses(
    "durability votes under a round that carries something else",
    { ...post, durabilityAnchor: reanchor(1, genesis, null) },
    [genesis],
    /does not carry the record/,
  );
  test("a signature that its signer never made", () => {
    const { askRecord: strict } = createAuditor({
      ids: members.ids,
      byzantine: new Set(),
      made: () => false,
    });
    expect(() => strict(genesis, [])).toThrow(/was never made/);
  });
});

describe("the signature oracle", () => {
  const { recordHash, recordCore } = post;
  const rival = Record.postCore(intentOf(world, (all[3] as Member).id, postIdOf("rival"), "rival"), {
    height: 1,
    previousRecordHash: genesis.recordHash,
    anchorHash: genesis.recordCore.anchorHash,
  });
  const subject = subjectOf(recordHash, recordCore);
  const keep: Command = { kind: "keep-core", recordHash, core: recordCore };
  const keepRival: Command = { kind: "keep-core", recordHash: Record.recordHashOf(rival), core: rival };
  const vote = (kind: "action" | "durability", member: Member, core = recordCore): OwnVote => {
    const hash = Record.recordHashOf(core);
    const named = subjectOf(hash, core);
    const statement = kind === "action" ? actionVoteOf(named, member.id) : durabilityVoteOf(named, member.id);
    const signature = Statement.sign(member.signer, statement);
    const { height, anchorHash } = named;
    return {
      kind: "own-vote",
      vote: kind,
      height,
      round: 0,
      recordHash: hash,
      anchorHash,
      inProposal: false,
      signature,
    };
  };
  const turn = (member: Member, commands: ReadonlyArray<Command>, more: Partial<State> = {}): Committed => {
    const before: Disk = { ...blank, state: { ...initial, ...more } };
    return {
      member,
      before,
      after: { ...before, state: { ...before.state, rounds: { ...noRounds, bound: 9 } } },
      commands,
    };
  };
  const fresh = (liars: ReadonlyArray<AgentId> = []) => createSignatures(4, new Set(liars));
  const [a, b, c, d] = all as [Member, Member, Member, Member];
  const statementOf = (round: number, prepared: Prepared): Command => {
    const statement: Statement.ReanchorStatement = {
      kind: "reanchor_statement",
      signerAgentId: a.id,
      conversationId,
      membershipHash,
      round,
      routerInstanceId,
      head: null,
      prepared,
    };
    const signature = Statement.sign(a.signer, statement);
    return {
      kind: "multicast",
      packet: { kind: "statement_packet", statement, signature, headProof: null, preparedProof: null },
    };
  };

  /** Others who wish for a round, so that binding to it has cause. */
  const caused = (round: number): ReturnType<typeof fresh> => {
    const signatures = fresh();
    for (const member of [b, c]) {
      const wish = {
        kind: "wish" as const,
        signerAgentId: member.id,
        conversationId,
        round,
        routerInstanceId,
      };
      const packet = { ...wish, signature: Statement.sign(member.signer, wish) };
      signatures.take(turn(member, [{ kind: "multicast", packet }]));
    }
    return signatures;
  };

  verifies(
    "HIS-80",
    "sees two action certificates become possible in one slot, though no member holds either",
    () => {
      const signatures = fresh([c.id, d.id]);
      signatures.take(turn(a, [keep, keepRival, vote("action", a)]));
      expect(() => signatures.take(turn(b, [vote("action", b, rival)]))).toThrow(
        /^I1: two action certificates/,
      );
    },
  );
  verifies("HIS-83", "sees a second vote in a slot, and one below a stated round", () => {
    const signatures = fresh();
    signatures.take(turn(a, [keep, keepRival, vote("action", a)]));
    expect(() => signatures.take(turn(a, [vote("action", a, rival)]))).toThrow(/signed twice/);
    const bound = caused(1);
    bound.take(turn(a, [keep, statementOf(1, null)]));
    expect(() => bound.take(turn(a, [vote("action", a)]))).toThrow(/statement had ended/);
  });
  test("sees a member bind itself on the word of one", () => {
    expect(() => fresh([d.id]).take(turn(a, [statementOf(1, null)]))).toThrow(/on the word of too few/);
    expect(() => caused(1).take(turn(a, [statementOf(2, null)]))).toThrow(/on the word of too few/);
  });
  test("sees two statements of one round, and one that keeps back what was staged", () => {
    const signatures = caused(1);
    signatures.take(turn(a, [statementOf(1, null)]));
    expect(() => signatures.take(turn(a, [statementOf(1, null)]))).not.toThrow();
    const other = statementOf(1, { recordHash, height: 1, round: 0 });
    expect(() => signatures.take(turn(a, [other]))).toThrow(/stated twice/);
    const third = caused(1);
    third.take(turn(a, [keep, { ...vote("durability", a), height: 0 }]));
    expect(() => third.take(turn(a, [statementOf(1, null)]))).toThrow(/stated less than it had staged/);
  });
  test("knows which claims certificates can prove", () => {
    const signatures = fresh([d.id]);
    signatures.take(turn(a, [keep, vote("action", a)]));
    signatures.take(turn(b, [vote("action", b)]));
    const prepared = { recordHash, height: 1, round: 0 };
    expect(signatures.provable({ head: null, prepared })).toBe(true);
    expect(signatures.provable({ head: null, prepared: { ...prepared, round: 1 } })).toBe(false);
    expect(signatures.provable({ head: { recordHash, height: 1 }, prepared: null })).toBe(false);
    signatures.take(turn(a, [vote("durability", a)]));
    signatures.take(turn(b, [vote("durability", b)]));
    expect(signatures.provable({ head: { recordHash, height: 1 }, prepared: null })).toBe(true);
  });
  test("sees a vote beside a refusal, in either order", () => {
    const refusal = {
      kind: "refusal" as const,
      signerAgentId: a.id,
      actionHash: subject.actionHash,
      reason: "contact-policy" as const,
    };
    const packet = { ...refusal, signature: Statement.sign(a.signer, refusal) };
    const refuses: Command = { kind: "multicast", packet };
    const first = fresh();
    first.take(turn(a, [keep, refuses]));
    expect(() => first.take(turn(a, [vote("action", a)]))).toThrow(/had refused/);
    const second = fresh();
    second.take(turn(a, [keep, vote("action", a)]));
    expect(() => second.take(turn(a, [refuses]))).toThrow(/had voted for/);
  });
  test("sees a refusal for a withdrawal that its author never made", () => {
    const { actionHash } = subject;
    const writer = all.find(({ id }) => id === recordCore.action.authorAgentId) as Member;
    const refuser = all.find((member) => member !== writer) as Member;
    const refusal = {
      kind: "refusal" as const,
      signerAgentId: refuser.id,
      actionHash,
      reason: "withdrawn" as const,
    };
    const refuses: Command = {
      kind: "multicast",
      packet: { ...refusal, signature: Statement.sign(refuser.signer, refusal) },
    };
    const withdrawal = { kind: "withdrawal" as const, authorAgentId: writer.id, actionHash };
    const packet = { ...withdrawal, signature: Statement.sign(writer.signer, withdrawal) };
    const signatures = fresh();
    signatures.take(turn(writer, [keep]));
    expect(() => signatures.take(turn(refuser, [refuses]))).toThrow(/its author stands by/);
    signatures.take(turn(writer, [{ kind: "multicast", packet }]));
    expect(() => signatures.take(turn(refuser, [refuses]))).not.toThrow();
  });
  test("sees what is believed in a member's name that it never said", () => {
    const signatures = fresh();
    signatures.take(turn(a, [keep]));
    const rounds = { ...noRounds, wishes: { [b.id]: 3 } };
    const silent = turn(a, []);
    const told = { ...silent, after: { ...silent.after, state: { ...silent.after.state, rounds } } };
    expect(() => askHearsay(told, signatures, () => true)).toThrow(/^hearsay: .* a wish/);
    expect(() => askHearsay(told, signatures, () => false)).not.toThrow();
  });
  test("sees a signature leave that no turn has committed", () => {
    const signatures = fresh();
    const own = vote("durability", a);
    const leaving = {
      kind: "vote_packet" as const,
      actionVotes: [],
      durabilityVotes: [{ ...durabilityVoteOf(subject, a.id), signature: own.signature }],
      carryVotes: [],
    };
    expect(() => signatures.askSent(a.id, leaving)).toThrow(/^I7/);
    signatures.take(turn(a, [keep, own]));
    expect(() => signatures.askSent(a.id, leaving)).not.toThrow();
  });
});
