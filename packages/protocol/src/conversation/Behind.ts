// Being behind: evidence spoke of something that this member cannot commit. It asks the member that showed it, then the
// others in turn, at doubling intervals, until it can. What it asks for is merely a claim, so being behind stops no vote;
// only a proven certificate, kept in `missing`, says that the slot is decided.
// Implements HIS-43, HIS-44, HIS-48 and HIS-55 to HIS-57.

import { faultsOf } from "../history/Quorum.ts";
import type { AgentId } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import type { Draft } from "./Draft.ts";
import { floorOf, isDoubtful } from "./Floor.ts";
import type { AcceptedAnchor, Behind, Missing, Named, OpenRecord } from "./State.ts";
import { follows, nextHeight } from "./State.ts";

/** What this member cannot commit. */
export interface Lack {
  readonly target?: Behind["target"];
  readonly gap?: boolean;
  readonly missing?: Missing;
}

const atEase: Behind = {
  target: null,
  gap: false,
  missing: null,
  nextIndex: 0,
  askAt: null,
  intervalMs: Limits.catchUpMsMin,
  answered: [],
};

/** What is higher up in the chain; the newer where both are at one height. */
const higher = <T extends { readonly height: number }>(
  before: T | null,
  now: T | null | undefined,
): T | null => (now !== null && now !== undefined && now.height >= (before?.height ?? 0) ? now : before);

/** Sets the durable flag, or adds to it. The member that showed the evidence is asked first. */
export const fallBehind = (draft: Draft, lack: Lack, from: AgentId | null): void => {
  const { state, inputs } = draft;
  const before = state.behind;
  const known = before ?? { ...atEase, nextIndex: inputs.members.indexOf(from ?? inputs.self) };
  const missing = higher(known.missing, lack.missing);
  state.behind = {
    ...known,
    target: higher(known.target, lack.target),
    gap: known.gap || lack.gap === true,
    missing,
  };
  if (before === null) askAnew(draft);
  else if (missing?.recordHash !== before.missing?.recordHash && inputs.folded && from !== null)
    ask(draft, from);
};

/** Evidence for a record above one that is not held: that one was certified. */
export const lackPredecessor = (draft: Draft, named: Named, from: AgentId): void => {
  const { height, previousRecordHash } = named;
  if (previousRecordHash === null || height <= nextHeight(draft.state)) return;
  fallBehind(draft, { target: { height: height - 1, recordHash: previousRecordHash } }, from);
};

/** Begins to ask at the shortest interval: now when connected, else as soon as the lane is folded. */
export const askAnew = (draft: Draft): void => {
  if (draft.state.behind === null) return;
  draft.state.behind = { ...draft.state.behind, intervalMs: Limits.catchUpMsMin, answered: [] };
  askNext(draft);
};

/** Asks the next member, and sets the time for the one after it. */
export const askNext = (draft: Draft): void => {
  const { state, inputs } = draft;
  if (state.behind === null) return;
  if (!inputs.folded) {
    state.behind = { ...state.behind, askAt: null };
    return;
  }
  const { ids, n } = inputs.members;
  const { nextIndex, intervalMs } = state.behind;
  const index = ids[nextIndex] === inputs.self ? (nextIndex + 1) % n : nextIndex;
  state.behind = {
    ...state.behind,
    nextIndex: (index + 1) % n,
    askAt: inputs.now + intervalMs,
    intervalMs: Math.min(intervalMs * 2, Limits.catchUpMsMax),
  };
  ask(draft, ids[index] as AgentId);
};

/** Asks a member that has just been of use for more, before any other. */
export const askOn = (draft: Draft, behind: Behind, to: AgentId): void => {
  draft.state.behind = {
    ...behind,
    askAt: draft.inputs.now + Limits.catchUpMsMin,
    intervalMs: Limits.catchUpMsMin * 2,
    answered: [],
  };
  ask(draft, to);
};

/** Asks one member for whatever is lacking. */
const ask = (draft: Draft, to: AgentId): void => {
  const { head, anchor, behind } = draft.state;
  const { conversationId } = draft.inputs.members;
  draft.unicast(to, {
    kind: "catch_up_request",
    conversationId,
    knownRecordHash: head?.recordHash ?? null,
    knownAnchorHash: anchor?.anchorHash ?? null,
  });
  if (behind !== null && behind.missing !== null) {
    draft.unicast(to, { kind: "record_request", conversationId, recordHash: behind.missing.recordHash });
  }
};

/**
 * Ends being behind where nothing is lacking any more. What the Router lost, and what was only claimed, is given up when
 * so many members know of nothing more that one of them is honest and holds every record that can be certified: at most f
 * lie and at most f - 1 other honest ones are without it. A claim must besides have been asked about for long.
 */
export const easeBehind = (draft: Draft): void => {
  const { state } = draft;
  const { behind, head } = state;
  if (behind === null || behind.missing !== null) return;
  const { n } = draft.inputs.members;
  // Who lost its memory goes on listening to pages until it knows where the others are.
  if (state.restored !== null && (floorOf(state, n) === null || isDoubtful(state, n))) return;
  const told = behind.answered.length >= Math.max(1, 2 * faultsOf(n));
  const reached = behind.target === null || behind.target.height <= (head?.height ?? -1);
  const waited = behind.intervalMs >= Limits.catchUpMsMax;
  if ((reached || (told && waited)) && (!behind.gap || told)) state.behind = null;
};

/** A record whose core has come takes over the evidence that was kept for it. */
export const withKeptEvidence = (draft: Draft, record: OpenRecord): OpenRecord => {
  const { behind } = draft.state;
  const missing = behind?.missing ?? null;
  if (behind === null || missing === null || missing.recordHash !== record.recordHash) return record;
  const reached = behind.target !== null && behind.target.height <= missing.height;
  draft.state.behind = { ...behind, missing: null, target: reached ? null : behind.target };
  easeBehind(draft);
  const agrees =
    missing.actionHash === record.actionHash &&
    missing.height === record.height &&
    missing.previousRecordHash === record.previousRecordHash &&
    missing.anchorHash === record.anchorHash;
  if (!agrees) return record;
  if (follows(draft.state, record)) draft.certificateFrom = missing.from;
  return {
    ...record,
    action: { ...missing.action, ...record.action },
    durability: { ...missing.durability, ...record.durability },
  };
};

/** A round has ended: what its certificates named without showing it is no longer owed, unless the next round carries it. */
export const leaveMissing = (draft: Draft, { anchorHash, carried }: AcceptedAnchor): void => {
  const { behind } = draft.state;
  if (behind === null || behind.missing === null) return;
  const { missing, target } = behind;
  if (missing.anchorHash === anchorHash || missing.recordHash === carried) return;
  draft.state.behind = {
    ...behind,
    missing: null,
    target: target?.recordHash === missing.recordHash ? null : target,
  };
  easeBehind(draft);
};

/** A record was committed: evidence about its height and those below has served. */
export const noteHead = (draft: Draft, height: number): void => {
  const { behind } = draft.state;
  if (behind === null) return;
  if (behind.missing !== null && behind.missing.height <= height) {
    draft.state.behind = { ...behind, missing: null };
  }
  easeBehind(draft);
};
