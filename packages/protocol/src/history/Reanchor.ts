// The completed re-anchor: how q(n) statements decide where a new round begins, and when such a decision is true.
// Content-free: what the statements claim about records is checked where the records are.

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
  readonly carried: { readonly recordHash: RecordHash; readonly round: number } | null;
}

const compareHashes = (left: RecordHash, right: RecordHash): number =>
  Buffer.compare(RecordHash.toBytes(left), RecordHash.toBytes(right));

/**
 * What a set of statements decides. Of two prepared records of one round, which only two or three members can have, the
 * lower hash is carried. Null when two heads of one height contradict each other: such statements decide nothing.
 */
export const decide = (statements: ReadonlyArray<Statement.ReanchorStatement>): Decision | null => {
  let base: Decision["base"] = null;
  for (const { head } of statements) {
    if (head === null || (base !== null && head.height < base.height)) continue;
    if (base !== null && head.height === base.height && head.recordHash !== base.recordHash) return null;
    base = head;
  }
  const height = (base?.height ?? -1) + 1;
  let carried: Decision["carried"] = null;
  for (const { prepared } of statements) {
    if (prepared === null || prepared.height !== height) continue;
    const wins =
      carried === null ||
      prepared.round > carried.round ||
      (prepared.round === carried.round && compareHashes(prepared.recordHash, carried.recordHash) < 0);
    if (wins) carried = { recordHash: prepared.recordHash, round: prepared.round };
  }
  return { base, carried };
};

/** The member that alone completes a round. */
export const leaderOf = (members: Members, round: number): AgentId => members.ids[round % members.n] as AgentId;

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
    if (index <= previous) refuse("statements are repeated, out of order or not by members");
    previous = index;
    const agrees =
      statement.conversationId === body.conversationId &&
      statement.membershipHash === body.membershipHash &&
      statement.round === body.round &&
      statement.routerInstanceId === body.routerInstanceId;
    if (!agrees) refuse("a statement speaks of another round or instance than the re-anchor");
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
