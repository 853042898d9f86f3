// Wishes for a round: they bind nobody and only say that a member has cause, or has heard of enough others that have.
// Implements HIS-71.

import * as Statement from "../history/Statement.ts";
import type { AgentId } from "../identity/Identifier.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import { horizonOf } from "./Following.ts";
import { reached, type Rounds } from "./State.ts";

/** Cause for a round: says so to everybody, or as soon as there is a connection. A wish binds nobody. */
export const wishFor = (draft: Draft, round: number): boolean => {
  if (round <= reached(draft.state.rounds)) return false;
  draft.changeRounds({ wish: round });
  repeatWish(draft);
  return true;
};

/** Cause that the fold cannot see: the owner's command, a Router that was caught, a gap that nobody can fill. */
export const wishAnew = (draft: Draft): void => void wishFor(draft, draft.state.rounds.bound + 1);

export const repeatWish = (draft: Draft): void => {
  const { wish, bound } = draft.state.rounds;
  if (wish > bound) multicastWish(draft, wish);
};

/** A wish for the round that it is in asks for nothing: a member that has nothing else to say shows that it is there. */
export const sayHere = (draft: Draft): void => multicastWish(draft, draft.state.rounds.bound);

const multicastWish = (draft: Draft, round: number): void => {
  const { self, members, routerInstanceId, folded, signer } = draft.inputs;
  if (routerInstanceId === null || !folded) return;
  const statement = {
    kind: "wish" as const,
    signerAgentId: self,
    conversationId: members.conversationId,
    round,
    routerInstanceId,
  };
  draft.multicast({ ...statement, signature: Statement.sign(signer, statement) });
};

export const raise = (map: Rounds["wishes"], signer: AgentId, round: number): Rounds["wishes"] =>
  round > (map[signer] ?? -1) ? { ...map, [signer]: round } : map;

/** The highest round that each other member wished for is kept, up to the horizon. */
export const takeWish = (draft: Draft, { from, laneSequence, packet }: ReceivedOf<"wish">): void => {
  const { signature, ...statement } = packet;
  const round = Math.min(statement.round, horizonOf(draft));
  if (round <= (draft.state.rounds.wishes[from] ?? 0)) return;
  const card = draft.inputs.members.cardOf(from);
  const believed =
    laneSequence !== null &&
    statement.signerAgentId === from &&
    card !== undefined &&
    Statement.verify(draft.inputs.trust.verifier, card.signingKey, statement, signature);
  if (!believed) return draft.note("a wish is not its sender's, or came outside the lane");
  draft.changeRounds({ wishes: raise(draft.state.rounds.wishes, from, round) });
};
