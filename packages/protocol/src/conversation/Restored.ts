// A member whose disk is older than what it signed: it cannot know its votes, so it signs nothing in the rounds in which it
// may have voted. It asks all others where they are, learns what was certified, and takes part again from a later round on.
// Implements HIS-160 to HIS-164.

import { hash } from "../encoding/Hash.ts";
import * as Statement from "../history/Statement.ts";
import { type AgentId, type PostId, RecordHash } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import { fallBehind } from "./Behind.ts";
import type { Draft } from "./Draft.ts";
import type { Inputs, ReceivedOf } from "./Event.ts";
import { floorOf, isDoubtful, isFarFrom, isMute } from "./Floor.ts";
import type { Restored } from "./Restoration.ts";
import { type OpenRecord, reached } from "./State.ts";
import { raise, wishFor } from "./Wishes.ts";

const change = (draft: Draft, more: Partial<Restored>): void => {
  const { restored } = draft.state;
  if (restored !== null) draft.state.restored = { ...restored, ...more };
};

/**
 * The memory is found to be lost, for the first time or again. What the old disk was about to propose may have been proposed
 * and more: none of it is said again.
 */
export const loseMemory = (draft: Draft): void => {
  const { state, inputs } = draft;
  const { rounds, anchor } = state;
  state.restored = {
    at: inputs.now,
    round: Math.max(rounds.bound, anchor?.round ?? 0),
    question: questionOf(inputs),
    reports: {},
    stated: {},
    askAt: null,
    intervalMs: Limits.catchUpMsMin,
    shown: state.restored?.shown ?? [],
  };
  state.proposal = null;
  state.spread = null;
  fallBehind(draft, { gap: true }, null);
  askAll(draft);
};

/**
 * A true vote of this member turns up that its disk does not hold: its memory is lost, unless that is known already. `round`
 * is null where the anchor of the vote is not here. Such a vote is heeded once, whoever shows it again.
 */
export const heedForgotten = (draft: Draft, recordHash: RecordHash, round: number | null): void => {
  const { restored, recovered } = draft.state;
  const isOfRecovered =
    recovered !== null && (round === null ? recovered.shown.includes(recordHash) : round <= recovered.floor);
  if (restored === null && isOfRecovered) return;
  if (restored === null) loseMemory(draft);
  const shown = draft.state.restored?.shown ?? [];
  if (round === null && !shown.includes(recordHash)) change(draft, { shown: [...shown, recordHash] });
};

/** Whether this member may have voted for a record, as far as its disk and its last loss of memory say. */
export const mayHaveVotedFor = (
  draft: Draft,
  { recordHash, anchorHash }: Pick<OpenRecord, "recordHash" | "anchorHash">,
): boolean => {
  const { state, inputs } = draft;
  if (inputs.reads.hasSigned("action", recordHash, anchorHash)) return true;
  return state.recovered !== null && (draft.roundOf(anchorHash) ?? 0) <= state.recovered.floor;
};

const questionOf = ({ self, members, now }: Inputs): RecordHash =>
  RecordHash.fromBytes(hash("restored", { self, conversationId: members.conversationId, now }));

/** Asks whoever has not said yet at which round it is. */
const askAll = (draft: Draft): void => {
  const { state, inputs } = draft;
  const { restored } = state;
  if (restored === null) return;
  const { n } = inputs.members;
  const isKnown = floorOf(state, n) !== null && !isDoubtful(state, n);
  if (!inputs.folded || isKnown) return change(draft, { askAt: null });
  for (const id of inputs.members.ids) {
    const told = restored.reports[id];
    if (id === inputs.self || (told !== undefined && !isFarFrom(state, told))) continue;
    draft.unicast(id, {
      kind: "catch_up_request",
      conversationId: inputs.members.conversationId,
      knownRecordHash: restored.question,
      knownAnchorHash: state.anchor?.anchorHash ?? null,
    });
  }
  const intervalMs = Math.min(restored.intervalMs * 2, Limits.silenceMsMax);
  change(draft, { askAt: inputs.now + restored.intervalMs, intervalMs });
};

/** The lane is folded: there is a connection to ask over, from the shortest interval on. */
export const askRoundsAnew = (draft: Draft): void => {
  change(draft, { intervalMs: Limits.catchUpMsMin });
  askAll(draft);
};

/** Whoever has not answered may have been away. */
export const restoredTick = (draft: Draft): void => {
  const { restored } = draft.state;
  if (restored === null || restored.askAt === null || restored.askAt > draft.inputs.now) return;
  askAll(draft);
};

/** A statement that came beside the lane answers the question at which round its signer is. */
export const hearStatement = (draft: Draft, { from, packet }: ReceivedOf<"statement_packet">): void => {
  const { restored } = draft.state;
  const { members, trust } = draft.inputs;
  const card = members.cardOf(from);
  const { statement, signature } = packet;
  if (restored === null || card === undefined || statement.signerAgentId !== from) return;
  if (!Statement.verify(trust.verifier, card.signingKey, statement, signature))
    return draft.note("a statement does not verify");
  change(draft, { stated: raise(restored.stated, from, statement.round) });
};

/** A whole answer of a member: the anchor that it stands under, and before it the round that it stated, if a later one. */
export const hearReport = (
  draft: Draft,
  from: AgentId,
  { afterRecordHash }: { readonly afterRecordHash: RecordHash | null },
  anchorRound: number,
): void => {
  const { restored } = draft.state;
  if (restored === null || from === draft.inputs.self || afterRecordHash !== restored.question) return;
  const round = Math.max(anchorRound, restored.stated[from] ?? 0);
  const before = restored.reports[from];
  if (isFarFrom(draft.state, round)) change(draft, { stated: { ...restored.stated, [from]: 0 } });
  if (before !== undefined && round < before && isFarFrom(draft.state, before)) {
    // Every answer was given after the memory was lost, so that the lower one is as true; what was wished above it goes.
    change(draft, { reports: { ...restored.reports, [from]: round } });
    draft.changeRounds({ wish: 0 });
  } else change(draft, { reports: raise(restored.reports, from, round) });
  draft.progressed = true;
};

/** Own intents that the lost memory may have proposed. */
export const oldIntents = (draft: Draft): ReadonlySet<PostId> => {
  const { restored } = draft.state;
  if (restored === null) return draft.endedIntents;
  const old = new Set(draft.endedIntents);
  for (;;) {
    const next = draft.inputs.reads.nextIntent(old);
    if (next === null || next.createdAt > restored.at) return old;
    old.add(next.intent.postId);
  }
};

/** Under an anchor above the floor nothing that was signed before counts any more: this member is one like all others. */
const recover = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const floor = floorOf(state, inputs.members.n);
  if (state.restored === null || floor === null || isMute(state, inputs.members.n)) return false;
  for (const postId of oldIntents(draft)) {
    if (draft.endedIntents.has(postId) || isStillOpen(draft, postId)) continue;
    draft.endedIntents.add(postId);
    if (state.everProposed === postId) state.everProposed = null;
    state.withdrawing = state.withdrawing.filter((withdrawn) => withdrawn.postId !== postId);
    draft.commands.push({ kind: "intent-ended", postId, outcome: "outcome-unknown" });
  }
  state.recovered = {
    floor,
    shown: [...new Set([...(state.recovered?.shown ?? []), ...state.restored.shown])],
  };
  state.restored = null;
  return true;
};

/** What goes along into the new round may yet be certified; it is proposed again as the same post otherwise. */
const isStillOpen = ({ state, inputs }: Draft, postId: PostId): boolean =>
  state.open.some((record) => record.author === inputs.self && record.postId === postId);

/** The own restore is cause for a round above the floor, unless what was told leaves none: whoever told it is asked again. */
const wishOut = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const floor = floorOf(state, inputs.members.n);
  if (floor === null || !inputs.folded || reached(state.rounds) > floor) return false;
  return Number.isSafeInteger(floor + 1) && wishFor(draft, floor + 1);
};

/** Without memory: recover under an anchor above the floor, and wish for a round there until then. */
export const settleRestored = (draft: Draft): boolean => recover(draft) || wishOut(draft);
