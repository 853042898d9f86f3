// Accepting the anchor of a round: only with everything that it stands on already on disk, one anchor a round, and never
// below a round that binds this member. Implements HIS-75, HIS-76 and HIS-79.

import type { CompletedReanchor, RouterAnchor } from "../history/Evidence.ts";
import * as Reanchor from "../history/Reanchor.ts";
import * as Record from "../history/Record.ts";
import * as Limits from "../Limits.ts";
import { leaveMissing } from "./Behind.ts";
import type { Draft } from "./Draft.ts";
import { bestPrepared, preparedRound } from "./Preparation.ts";
import { type AcceptedAnchor, emptyCarrying, emptySlot, nextHeight } from "./State.ts";

/** Accepts the pending re-anchor once the chain up to its base, and its carried record with its certificate, are here. */
export const tryPending = (draft: Draft): boolean => {
  const { state } = draft;
  const { pending, bound } = state.rounds;
  if (pending === null) return false;
  if (pending.body.round < bound || pending.body.round <= (state.anchor?.round ?? 0)) {
    draft.changeRounds({ pending: null });
    return false;
  }
  const decision = Reanchor.decide(pending.statements);
  if (decision === null || !standsHere(draft, pending, decision)) return false;
  acceptReanchor(draft, pending);
  return true;
};

const standsHere = (
  draft: Draft,
  { body }: CompletedReanchor,
  { base, carried }: Reanchor.Decision,
): boolean => {
  const { state } = draft;
  const below = base === null ? null : draft.certified(base.recordHash);
  if (
    base === null ? state.head !== null && carried === null : below?.recordCore.action.height !== base.height
  ) {
    return false;
  }
  if (below !== null && below.recordCore.anchorHash !== body.previousAnchorHash) return false;
  if (carried === null) return true;
  const above = draft.certifiedAt((base?.height ?? -1) + 1);
  if (above !== null) return above.recordHash === carried.recordHash;
  const record = draft.find(carried.recordHash);
  if (record === undefined || preparedRound(draft, record) < 0) return false;
  // A statement may claim any place for a record that is prepared: only the one directly above the base is carried.
  if (record.previousRecordHash !== (base?.recordHash ?? null)) return false;
  const proven = Math.max(preparedRound(draft, record), state.rounds.proven[carried.recordHash] ?? -1);
  return proven >= carried.round;
};

const acceptedOf = (draft: Draft, anchor: RouterAnchor): AcceptedAnchor => {
  const body = Reanchor.bodyOf(anchor);
  const anchorHash = Record.anchorHashOf(body);
  const { round, routerInstanceId } = body;
  if (body.kind === "genesis_anchor")
    return { anchorHash, round, routerInstanceId, base: null, carried: null };
  const base = body.baseRecordHash === null ? null : draft.certified(body.baseRecordHash);
  return {
    anchorHash,
    round,
    routerInstanceId,
    base: base === null ? null : { recordHash: base.recordHash, height: base.recordCore.action.height },
    carried: body.carriedRecordHash,
  };
};

const acceptReanchor = (draft: Draft, anchor: RouterAnchor): void => {
  const { state } = draft;
  const accepted = acceptedOf(draft, anchor);
  draft.keepAnchor(accepted.anchorHash, anchor);
  const best = bestPrepared(draft);
  state.anchor = accepted;
  state.slot = emptySlot;
  state.carrying = emptyCarrying;
  state.proposal = null;
  state.spread = null;
  // They stand under the anchors of rounds that are over: nobody hears them any more.
  state.voids = [];
  const statements = state.rounds.statements.filter(({ statement }) => statement.round > accepted.round);
  draft.changeRounds({
    bound: accepted.round,
    own: null,
    pending: null,
    statements,
    shown: {},
    restated: {},
    called: false,
    restsUntil: null,
    stall: null,
  });
  const next = nextHeight(state);
  draft.keepOpen(
    (record) =>
      record.height > next ||
      record.anchorHash === accepted.anchorHash ||
      record.recordHash === accepted.carried ||
      record.recordHash === best?.record.recordHash,
  );
  leaveMissing(draft, accepted);
  // Whoever has certified the carried record already shows that to the others.
  if (accepted.carried !== null && state.head?.recordHash === accepted.carried) {
    const at = draft.inputs.now + Limits.spreadStepMs * draft.inputs.members.indexOf(draft.inputs.self);
    state.spread = { what: "certified-notice", recordHash: accepted.carried, at };
  }
  draft.progressed = true;
};

/** A certificate under an anchor shows that a quorum accepted it: it is accepted here too, unless it binds to less. */
export const adopt = (draft: Draft, anchor: RouterAnchor): void => {
  const { state } = draft;
  const { round } = Reanchor.bodyOf(anchor);
  draft.keepAnchor(Reanchor.hashOf(anchor), anchor);
  if (state.anchor !== null && round <= state.anchor.round) return;
  if (round < state.rounds.bound) return;
  const accepted = acceptedOf(draft, anchor);
  const waits =
    accepted.carried !== null && (accepted.base?.recordHash ?? null) === (state.head?.recordHash ?? null);
  if (waits) return;
  if (anchor.kind === "genesis_anchor") state.anchor = accepted;
  else acceptReanchor(draft, anchor);
};
