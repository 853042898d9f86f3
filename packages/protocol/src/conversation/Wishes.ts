// Wishes for a round: they bind nobody and only say that a member has cause, or has heard of enough others that have.
// Implements HIS-71.

import * as Statement from "../history/Statement.ts";
import type { AgentId } from "../identity/Identifier.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import type { Rounds } from "./State.ts";

/** The round that this member is past: bound to, or wishing for. */
export const reached = ({ bound, wish }: Rounds): number => Math.max(bound, wish);

/** Cause for a round: says so to everybody. A wish binds nobody. */
export const wishFor = (draft: Draft, round: number): boolean => {
  const { state, inputs } = draft;
  if (round <= reached(state.rounds) || !inputs.folded || inputs.routerInstanceId === null) return false;
  draft.changeRounds({ wish: round });
  multicastWish(draft);
  return true;
};

export const multicastWish = (draft: Draft): void => {
  const { state, inputs } = draft;
  if (state.rounds.wish <= state.rounds.bound || inputs.routerInstanceId === null) return;
  const statement = {
    kind: "wish" as const,
    signerAgentId: inputs.self,
    conversationId: inputs.members.conversationId,
    round: state.rounds.wish,
    routerInstanceId: inputs.routerInstanceId,
  };
  draft.multicast({ ...statement, signature: Statement.sign(inputs.signer, statement) });
};

export const raise = (map: Rounds["wishes"], signer: AgentId, round: number): Rounds["wishes"] =>
  round > (map[signer] ?? -1) ? { ...map, [signer]: round } : map;

export const takeWish = (draft: Draft, { from, laneSequence, packet }: ReceivedOf<"wish">): void => {
  const { signature, ...statement } = packet;
  const card = draft.inputs.members.cardOf(from);
  const believed =
    laneSequence !== null &&
    statement.signerAgentId === from &&
    card !== undefined &&
    Statement.verify(draft.inputs.trust.verifier, card.signingKey, statement, signature);
  if (!believed) return draft.note("a wish is not its sender's, or came outside the lane");
  draft.changeRounds({ wishes: raise(draft.state.rounds.wishes, from, statement.round) });
};
