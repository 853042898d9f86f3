// Later rounds for the vectors: statements, the re-anchors that they complete, and records under them. Makes what it is
// told to, true or not; the verifiers judge.

import type {
  CompletedReanchor,
  HistoryRecord,
  RouterAnchor,
} from "@social-harness/protocol/history/Evidence";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import * as Conversations from "./Conversations.ts";
import { seeded } from "./Family.ts";
import type { Person } from "./People.ts";

/** Each later round has a Router instance of its own. */
export const instanceOf = (round: number): RouterInstanceId =>
  RouterInstanceId.fromBytes(seeded(`router instance of round ${round}`, 16));

/** What a member states about its chain. */
export type Claim = Pick<Statement.ReanchorStatement, "head" | "prepared">;

export const nothing: Claim = { head: null, prepared: null };

export const headAt = (record: HistoryRecord): NonNullable<Claim["head"]> => ({
  recordHash: record.recordHash,
  height: record.recordCore.action.height,
});

export const preparedAt = (record: HistoryRecord, round: number): NonNullable<Claim["prepared"]> => ({
  ...headAt(record),
  round,
});

export type SignedStatement = CompletedReanchor["statements"][number];

export const signedStatement = (
  { signer }: Pick<Person, "signer">,
  statement: Statement.ReanchorStatement,
): SignedStatement => ({ ...statement, signature: Statement.sign(signer, statement) });

export const statementOf = (
  { members }: Conversations.Cast,
  { card }: Person,
  round: number,
  claim: Claim,
): Statement.ReanchorStatement => ({
  kind: "reanchor_statement",
  signerAgentId: card.agentId,
  conversationId: members.conversationId,
  membershipHash: members.membershipHash,
  round,
  routerInstanceId: instanceOf(round),
  ...claim,
});

/** Of q(n) members from the last on, in the order of the membership: the first `claims` entry is the last member's. */
export const statementsOf = (
  cast: Conversations.Cast,
  round: number,
  claims: ReadonlyArray<Claim>,
): ReadonlyArray<SignedStatement> =>
  cast.people
    .slice(-cast.members.quorum)
    .toReversed()
    .map((one, i) =>
      signedStatement(one, statementOf(cast, one, round, claims[Math.min(i, claims.length - 1)] ?? nothing)),
    )
    .toReversed();

/**
 * The re-anchor of a round that `statements` complete: what they decide, and then what is changed of it. `base` is the
 * record whose anchor it names as the one before.
 */
export const completed = (
  cast: Conversations.Cast,
  round: number,
  statements: ReadonlyArray<SignedStatement>,
  base: HistoryRecord | null,
  change: Partial<Record.ReanchorBody> = {},
): CompletedReanchor => {
  const decision = Reanchor.decide(statements);
  return {
    kind: "completed_reanchor",
    body: {
      kind: "reanchor_body",
      conversationId: cast.members.conversationId,
      membershipHash: cast.members.membershipHash,
      round,
      routerInstanceId: instanceOf(round),
      previousAnchorHash: base?.recordCore.anchorHash ?? null,
      baseRecordHash: decision?.base?.recordHash ?? null,
      carriedRecordHash: decision?.carried?.recordHash ?? null,
      ...change,
    },
    statements,
  };
};

/** A round that begins at `base`, or before GENESIS, as the last members found it. */
export const begun = (
  cast: Conversations.Cast,
  round: number,
  base: HistoryRecord | null,
  prepared: Claim["prepared"] = null,
): CompletedReanchor => {
  const claim: Claim = { head: base === null ? null : headAt(base), prepared };
  return completed(cast, round, statementsOf(cast, round, [claim]), base);
};

/** A core by the member whose turn it is, above `previous`, under an anchor. */
export const coreUnder = (
  cast: Conversations.Cast,
  anchor: RouterAnchor,
  previous: HistoryRecord | null,
  label = "",
): Record.RecordCore => {
  const height = previous === null ? 0 : previous.recordCore.action.height + 1;
  const words = `Height ${height}${label}.`;
  const intent = Conversations.intentOf(
    cast,
    Conversations.member(cast, height),
    `${cast.people.length} members in later rounds, ${height}${label}`,
    [{ type: "text", text: words }],
  );
  return previous === null
    ? Record.genesisCore(cast.members.membership, intent, Reanchor.bodyOf(anchor))
    : Record.postCore(intent, {
        height,
        previousRecordHash: previous.recordHash,
        anchorHash: Reanchor.hashOf(anchor),
      });
};

/** A core with exactly its thresholds' votes; with a `durabilityAnchor` those that say it is stored stand under that. */
export const certified = (
  cast: Conversations.Cast,
  core: Record.RecordCore,
  routerAnchor: RouterAnchor,
  durabilityAnchor: CompletedReanchor | null = null,
): HistoryRecord => {
  const recordHash = Record.recordHashOf(core);
  const subject = VerifyRecord.subjectOf(recordHash, core);
  const { height } = subject;
  const least = Conversations.leastSigners(cast, height, cast.members.quorum);
  const durability = { ...subject, anchorHash: Reanchor.hashOf(durabilityAnchor ?? routerAnchor) };
  return {
    recordHash,
    recordCore: core,
    routerAnchor,
    durabilityAnchor,
    actionSignatures: Conversations.signedBy(height === 0 ? cast.people : least, (id) =>
      VerifyRecord.actionVoteOf(subject, id),
    ),
    durabilityVotes: Conversations.signedBy(least, (id) => VerifyRecord.durabilityVoteOf(durability, id)),
  };
};

export const recordUnder = (
  cast: Conversations.Cast,
  anchor: RouterAnchor,
  previous: HistoryRecord | null,
  label = "",
): HistoryRecord => certified(cast, coreUnder(cast, anchor, previous, label), anchor);
