// The one member that completes a round: it alone multicasts the re-anchor, from a quorum of proven statements whose records
// it holds itself; from anybody else a re-anchor counts for nothing. Implements HIS-74.

import type { CompletedReanchor } from "../history/Evidence.ts";
import * as Reanchor from "../history/Reanchor.ts";
import type * as Record from "../history/Record.ts";
import { RecordError } from "../history/RecordError.ts";
import type { Draft } from "./Draft.ts";
import { floorOf } from "./Floor.ts";
import type { ReceivedOf } from "./Event.ts";
import { askForPending, isHeld } from "./Lacking.ts";

/** The leader of the round that binds this member completes it from q(n) statements whose claims it holds itself. */
export const completeAsLeader = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const { rounds, anchor } = state;
  const { members, self } = inputs;
  const { bound, own } = rounds;
  if (bound === (anchor?.round ?? 0) || rounds.completed === bound || own === null) return false;
  if (Reanchor.leaderOf(members, bound) !== self) return false;
  // A leader without memory may have completed this round before.
  if (state.restored !== null && bound <= (floorOf(state, members.n) ?? bound)) return false;
  const usable = [own, ...rounds.statements].filter(
    ({ statement }) =>
      statement.round === bound &&
      statement.routerInstanceId === inputs.routerInstanceId &&
      isHeld(draft, statement),
  );
  if (usable.length < members.quorum) return false;
  const statements = usable
    .slice(0, members.quorum)
    .map(({ statement, signature }) => ({ ...statement, signature }))
    .sort((a, b) => members.indexOf(a.signerAgentId) - members.indexOf(b.signerAgentId));
  const decision = Reanchor.decide(statements);
  if (decision === null || inputs.routerInstanceId === null) return false;
  const { base, carried } = decision;
  const body: Record.ReanchorBody = {
    kind: "reanchor_body",
    conversationId: members.conversationId,
    membershipHash: members.membershipHash,
    round: bound,
    routerInstanceId: inputs.routerInstanceId,
    previousAnchorHash:
      base === null ? null : (draft.certified(base.recordHash)?.recordCore.anchorHash ?? null),
    baseRecordHash: base?.recordHash ?? null,
    carriedRecordHash: carried?.recordHash ?? null,
  };
  const completed: CompletedReanchor = { kind: "completed_reanchor", body, statements };
  draft.changeRounds({ completed: bound, pending: completed });
  draft.multicast(completed);
  return true;
};

/** Of the round's leader alone, verified whole: it waits until what it stands on is here. */
export const takeReanchor = (
  draft: Draft,
  { from, laneSequence, packet }: ReceivedOf<"completed_reanchor">,
): void => {
  const { state, inputs } = draft;
  const { rounds, anchor } = state;
  const { body } = packet;
  if (body.round < rounds.bound || body.round <= (anchor?.round ?? 0)) return;
  if (body.round <= (rounds.pending?.body.round ?? 0)) return;
  if (laneSequence === null || from !== Reanchor.leaderOf(inputs.members, body.round)) {
    return draft.note("a re-anchor came from another than the leader of its round");
  }
  if (body.routerInstanceId !== inputs.routerInstanceId) {
    return draft.note("a re-anchor names another Router instance");
  }
  try {
    Reanchor.verify(inputs.trust, inputs.members, packet);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return draft.note(`a re-anchor was refused: ${error.message}`);
  }
  draft.changeRounds({ pending: packet });
  draft.progressed = true;
  askForPending(draft);
};
