// What a round that is changing stands on and this member does not hold yet: the chain up to a base, a prepared record. It
// is asked for from who stated it. Implements HIS-74 and HIS-75.

import * as Reanchor from "../history/Reanchor.ts";
import type * as Statement from "../history/Statement.ts";
import type { AgentId, RecordHash } from "../identity/Identifier.ts";
import { fallBehind } from "./Behind.ts";
import type { Draft } from "./Draft.ts";
import type { StatementPacket } from "./Packet.ts";
import { isPreparedHere } from "./Preparation.ts";

/** Whether the records that a statement speaks of are here, so that this member could accept what it decides. */
export const isHeld = (draft: Draft, { head, prepared }: Statement.ReanchorStatement): boolean => {
  if (head !== null && draft.certified(head.recordHash) === null) return false;
  return prepared === null || isPreparedHere(draft, prepared.recordHash);
};

/** A leader asks who stated a record for what it must hold itself before it can complete the round. */
export const askForStated = (draft: Draft, { statement }: StatementPacket): void => {
  const { head, prepared, signerAgentId } = statement;
  if (isHeld(draft, statement)) return;
  if (head !== null && draft.certified(head.recordHash) === null)
    fallBehind(draft, { target: head }, signerAgentId);
  if (prepared !== null) askForRecord(draft, signerAgentId, prepared.recordHash);
};

const askForRecord = (draft: Draft, to: AgentId, recordHash: RecordHash): void => {
  if (!draft.inputs.folded || isPreparedHere(draft, recordHash)) return;
  draft.unicast(to, {
    kind: "record_request",
    conversationId: draft.inputs.members.conversationId,
    recordHash,
  });
};

/** Asks for what a pending re-anchor stands on: the chain up to its base, and the carried record from who stated it. */
export const askForPending = (draft: Draft): void => {
  const { state, inputs } = draft;
  const { pending } = state.rounds;
  if (pending === null || !inputs.folded) return;
  const decision = Reanchor.decide(pending.statements);
  const { base, carried } = decision ?? { base: null, carried: null };
  if (base !== null && draft.certified(base.recordHash) === null) {
    return fallBehind(draft, { target: base }, Reanchor.leaderOf(inputs.members, pending.body.round));
  }
  if (carried === null) return;
  for (const { signerAgentId, prepared } of pending.statements) {
    if (signerAgentId === inputs.self || prepared?.recordHash !== carried.recordHash) continue;
    askForRecord(draft, signerAgentId, carried.recordHash);
  }
};

/** Whether a round that is changing needs a record here, with its certificate. */
export const isWanted = (draft: Draft, recordHash: RecordHash): boolean => {
  const { pending, statements } = draft.state.rounds;
  const named =
    pending?.body.carriedRecordHash === recordHash ||
    statements.some(({ statement }) => statement.prepared?.recordHash === recordHash);
  return named && !isPreparedHere(draft, recordHash);
};
