// The completed re-anchor: how q(n) statements decide where a new round begins, and when such a decision is true.
// Content-free: what the statements claim about records is checked where the records are. Implements HIS-110 and HIS-111.

import { type AgentId, type AnchorHash, RecordHash, type SigningKey } from "../identity/Identifier.ts";
import type { Verifier } from "../identity/Signing.ts";
import type { CompletedReanchor, RouterAnchor } from "./Evidence.ts";
import type { Members } from "./Membership.ts";
import * as Record from "./Record.ts";
import { RecordError } from "./RecordError.ts";
import * as Statement from "./Statement.ts";

/** Where a round begins: the highest certified head that the statements name, and the prepared record above it. */
export interface Decision {
  readonly base: { readonly recordHash: RecordHash; readonly height: number } | null;
  readonly carried: PreparedAt | null;
}

interface PreparedAt {
  readonly recordHash: RecordHash;
  readonly round: number;
}

const compareHashes = (left: RecordHash, right: RecordHash): number =>
  Buffer.compare(RecordHash.toBytes(left), RecordHash.toBytes(right));

/** The highest of the certified heads; null when none is stated, undefined when two of that height contradict each other. */
const highestHead = (
  statements: ReadonlyArray<Statement.ReanchorStatement>,
): Decision["base"] | undefined => {
  const heads = statements.flatMap(({ head }) => head ?? []);
  const height = Math.max(...heads.map((head) => head.height));
  const [first, ...others] = heads.filter((head) => head.height === height);
  return others.every(({ recordHash }) => recordHash === first?.recordHash) ? (first ?? null) : undefined;
};

/** Whether a preparation is carried rather than another: a later round's before an earlier one's. */
const goesBefore = (left: PreparedAt, right: PreparedAt): boolean =>
  left.round > right.round ||
  (left.round === right.round && compareHashes(left.recordHash, right.recordHash) < 0);

/**
 * What a set of statements decides, whatever their order. Of two records prepared in one round, which only two members can
 * have, the lower hash is carried. Null when the highest heads contradict each other: such statements decide nothing.
 */
export const decide = (statements: ReadonlyArray<Statement.ReanchorStatement>): Decision | null => {
  const base = highestHead(statements);
  if (base === undefined) return null;
  const height = (base?.height ?? -1) + 1;
  let carried: Decision["carried"] = null;
  for (const { prepared } of statements) {
    if (prepared === null || prepared.height !== height) continue;
    const { recordHash, round } = prepared;
    if (carried === null || goesBefore(prepared, carried)) carried = { recordHash, round };
  }
  return { base, carried };
};

/** The member that alone completes a round. */
export const leaderOf = (members: Members, round: number): AgentId =>
  members.ids[round % members.n] as AgentId;

/**
 * Verifies a completed re-anchor by itself: q(n) members' true signatures over statements of its round and instance, and a
 * body that is what they decide. Whether its base and carried record are true is for the chain. Throws `RecordError`.
 */
export const verify = (
  { verifier }: { readonly verifier: Verifier; readonly registryKey: SigningKey },
  members: Members,
  { body, statements }: CompletedReanchor,
): Decision => {
  const refuse = (message: string): never => {
    throw new RecordError("anchor", message);
  };
  if (body.round < 1) refuse("a re-anchor begins a round after the first");
  if (body.conversationId !== members.conversationId || body.membershipHash !== members.membershipHash) {
    refuse("a re-anchor belongs to another membership");
  }
  if (statements.length < members.quorum) refuse("a re-anchor has too few statements");
  let previous = -1;
  for (const { signature, ...statement } of statements) {
    const index = members.indexOf(statement.signerAgentId);
    if (index < 0) refuse("a statement is not a member's");
    if (index <= previous) refuse("statements are repeated or out of order");
    previous = index;
    const agrees =
      statement.conversationId === body.conversationId &&
      statement.membershipHash === body.membershipHash &&
      statement.round === body.round &&
      statement.routerInstanceId === body.routerInstanceId;
    if (!agrees) refuse("a statement speaks of another membership, round or instance than the re-anchor");
    const card = members.cards[index];
    if (card === undefined || !Statement.verify(verifier, card.signingKey, statement, signature)) {
      throw new RecordError("signature", "a statement's signature does not verify");
    }
  }
  const decision = decide(statements) ?? refuse("the statements contradict each other");
  const agrees =
    body.baseRecordHash === (decision.base?.recordHash ?? null) &&
    body.carriedRecordHash === (decision.carried?.recordHash ?? null) &&
    (body.previousAnchorHash === null) === (decision.base === null);
  if (!agrees) refuse("a re-anchor's body is not what its statements decide");
  return decision;
};

export const bodyOf = (anchor: RouterAnchor): Record.Anchor =>
  anchor.kind === "genesis_anchor" ? anchor : anchor.body;

export const hashOf = (anchor: RouterAnchor): AnchorHash => Record.anchorHashOf(bodyOf(anchor));
