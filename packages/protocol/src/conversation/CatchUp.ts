// Catching up from peers: answering those who ask, and believing of the answers only what verifies whole.
// Implements HIS-45 to HIS-47.

import * as CanonicalJson from "../encoding/CanonicalJson.ts";
import type { HistoryRecord } from "../history/Evidence.ts";
import { faultsOf } from "../history/Quorum.ts";
import * as Record from "../history/Record.ts";
import { RecordError } from "../history/RecordError.ts";
import * as Reanchor from "../history/Reanchor.ts";
import * as VerifiedChain from "../history/VerifiedChain.ts";
import { type Ancestry, type ChainHead, verifyCore } from "../history/VerifyRecord.ts";
import type { AgentId, RecordHash } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import { askOn, easeBehind, withKeptEvidence } from "./Behind.ts";
import { entriesOf, isActionCertified } from "./Certificates.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import type { CertifiedRecord } from "./Packet.ts";
import { isWanted } from "./Lacking.ts";
import { isPreparedHere } from "./Preparation.ts";
import { hearReport, heedForgotten } from "./Restored.ts";
import { commitRecord } from "./Settle.ts";
import { nextHeight, openRecordOf } from "./State.ts";
import { keepVotes } from "./Votes.ts";

/** Room for the page's own fields beside its records: the current anchor with the statements of 32 members. */
const pageFrameBytes = 32_768;

/** Answers with the certified records above the asked one, and at the end with the anchor that all stands under. */
export const answerCatchUp = (draft: Draft, { from, packet }: ReceivedOf<"catch_up_request">): void => {
  const { reads, members } = draft.inputs;
  const known = packet.knownRecordHash === null ? -1 : reads.heightOf(packet.knownRecordHash);
  const page =
    known === null
      ? { records: [], hasMore: false }
      : reads.recordsAfter(known, Limits.packetBytesMax - pageFrameBytes);
  const { anchor } = draft.state;
  const current = anchor === null ? null : draft.anchor(anchor.anchorHash);
  const tellsAnchor =
    !page.hasMore && current?.kind === "completed_reanchor" && packet.knownAnchorHash !== anchor?.anchorHash;
  // A member that has lost its memory must know of a round that binds this one, though its anchor is still to come.
  const { own, bound } = draft.state.rounds;
  if (own !== null && bound > (anchor?.round ?? 0) && !page.hasMore) draft.unicast(from, own);
  draft.unicast(from, {
    kind: "catch_up_page",
    conversationId: members.conversationId,
    afterRecordHash: packet.knownRecordHash,
    items: [...page.records.map(certifiedRecordOf), ...(tellsAnchor ? [current] : [])],
    hasMore: page.hasMore,
  });
};

/** A record as a catch-up page carries it; the record hash is recomputed by whoever reads it. */
const certifiedRecordOf = ({ recordCore, ...rest }: HistoryRecord): CertifiedRecord => ({
  kind: "certified_record",
  recordCore,
  routerAnchor: rest.routerAnchor,
  durabilityAnchor: rest.durabilityAnchor,
  actionSignatures: rest.actionSignatures,
  durabilityVotes: rest.durabilityVotes,
});

/** Bytes that a record takes in a catch-up page. */
export const pageBytesOf = (record: HistoryRecord): number =>
  CanonicalJson.byteLength(certifiedRecordOf(record)) + 1;

/** Records are verified whole and committed in order; what a page ends with says where its sender stands. */
export const takeCatchUpPage = (draft: Draft, { from, packet }: ReceivedOf<"catch_up_page">): void => {
  const { state } = draft;
  const before = state.behind;
  if (before === null) return;
  let verified: ReadonlyArray<HistoryRecord>;
  try {
    verified = verifyPage(draft, packet);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return draft.note(`a catch-up page was refused: ${error.message}`);
  }
  for (const record of verified) {
    heedOwnVotes(draft, record);
    commitRecord(draft, record);
  }
  draft.certificateSeen = verified.length > 0;
  takeAnchorOf(draft, from, packet);
  if (!packet.hasMore) hearReport(draft, from, packet, roundShownBy(draft, packet));
  if (verified.length > 0 && packet.hasMore) {
    // Who sent true records and has more of them is asked on, whether or not the target is reached.
    return askOn(draft, state.behind ?? { ...before, missing: null }, from);
  }
  if (state.behind === null) return;
  const answered = verified.length > 0 ? [] : state.behind.answered;
  state.behind = { ...state.behind, answered: [...new Set([...answered, from])] };
  easeBehind(draft);
};

/** A certified record may carry votes of this member that its disk does not hold. */
const heedOwnVotes = (draft: Draft, record: HistoryRecord): void => {
  const { reads, self } = draft.inputs;
  const { recordHash, routerAnchor, durabilityAnchor, actionSignatures, durabilityVotes } = record;
  const heed = (
    kind: "action" | "durability",
    votes: HistoryRecord["actionSignatures"],
    anchor: HistoryRecord["routerAnchor"],
  ): void => {
    if (!votes.some(({ signerAgentId }) => signerAgentId === self)) return;
    if (reads.hasSigned(kind, recordHash, Reanchor.hashOf(anchor))) return;
    heedForgotten(draft, recordHash, Reanchor.bodyOf(anchor).round);
  };
  heed("action", actionSignatures, routerAnchor);
  heed("durability", durabilityVotes, durabilityAnchor ?? routerAnchor);
};

/** The round of the anchor that a page ends with. One without an anchor says that the asker knew it, or a later one. */
const roundShownBy = (draft: Draft, { items }: ReceivedOf<"catch_up_page">["packet"]): number => {
  const last = items.at(-1);
  const own = draft.state.anchor?.round ?? 0;
  return last?.kind === "completed_reanchor" ? Math.max(last.body.round, own) : own;
};

/**
 * The anchor that the conversation stands under now, which no record may have named yet. It shows q(n) statements, but not
 * that it is the one that its leader made of them: that is the leader's word, or that of f + 1 members who accepted it.
 */
const takeAnchorOf = (draft: Draft, from: AgentId, packet: ReceivedOf<"catch_up_page">["packet"]): void => {
  const last = packet.items.at(-1);
  if (last?.kind !== "completed_reanchor") return;
  const { rounds, anchor } = draft.state;
  const { members } = draft.inputs;
  const { round } = last.body;
  if (round < rounds.bound || round <= (anchor?.round ?? 0) || round <= (rounds.pending?.body.round ?? 0))
    return;
  const anchorHash = Reanchor.hashOf(last);
  const shown = { ...rounds.shown, [from]: anchorHash };
  draft.changeRounds({ shown });
  const witnesses = Object.values(shown).filter((other) => other === anchorHash).length;
  if (from !== Reanchor.leaderOf(members, round) && witnesses <= faultsOf(members.n)) return;
  draft.changeRounds({ pending: last });
  draft.progressed = true;
};

/** Verifies a page whole, before anything of it is taken. Records at or below the head are passed over. */
const verifyPage = (
  draft: Draft,
  packet: ReceivedOf<"catch_up_page">["packet"],
): ReadonlyArray<HistoryRecord> => {
  const { inputs, state } = draft;
  const chain = VerifiedChain.begin(inputs.trust, headOf(draft), {
    postUsed: (author, postId) => draft.postUsed(author, postId),
    find: (recordHash) => placeOf(draft.certified(recordHash)),
    hashAt: (height) => draft.certifiedAt(height)?.recordHash ?? null,
  });
  const verified: Array<HistoryRecord> = [];
  for (const item of packet.items) {
    if (item.kind !== "certified_record") {
      Reanchor.verify(inputs.trust, inputs.members, item);
      continue;
    }
    const { kind: _, ...fields } = item;
    if (item.recordCore.action.height < nextHeight(state)) continue;
    const record: HistoryRecord = { recordHash: Record.recordHashOf(item.recordCore), ...fields };
    const { members } = chain.take(record);
    if (members.membershipHash !== inputs.members.membershipHash) {
      throw new RecordError("membership", "the page belongs to another membership");
    }
    verified.push(record);
  }
  return verified;
};

const placeOf = (record: HistoryRecord | null): ReturnType<Ancestry["find"]> =>
  record === null
    ? null
    : { height: record.recordCore.action.height, anchorHash: record.recordCore.anchorHash };

/** The certified head as verification needs it. */
const headOf = (draft: Draft): ChainHead | null => {
  const { head } = draft.state;
  if (head === null) return null;
  const { round } = Reanchor.bodyOf(draft.anchor(head.anchorHash));
  return { ...head, round, members: draft.inputs.members };
};

/** Answers with a core and its action certificate, certified or staged. */
export const answerRecordRequest = (draft: Draft, { from, packet }: ReceivedOf<"record_request">): void => {
  const { reads } = draft.inputs;
  const height = reads.heightOf(packet.recordHash);
  const certified = height === null ? null : reads.recordAt(height);
  if (certified !== null) {
    const { recordCore, routerAnchor, actionSignatures } = certified;
    return draft.unicast(from, { kind: "record_response", recordCore, routerAnchor, actionSignatures });
  }
  const open = draft.find(packet.recordHash);
  if (open === undefined || !isActionCertified(draft, open) || !draft.knowsAnchor(open.anchorHash)) return;
  const routerAnchor = draft.anchor(open.anchorHash);
  draft.unicast(from, {
    kind: "record_response",
    recordCore: draft.core(open.recordHash),
    routerAnchor,
    actionSignatures: entriesOf(open.action),
  });
};

/** Answers to one question may come from several members: only what is not here either is remarkable. */
const noteUnasked = (draft: Draft, recordHash: RecordHash): void => {
  if (!isPreparedHere(draft, recordHash)) draft.note("a record came that nobody had asked for");
};

/** The core that an action certificate spoke about. It has no place in the lane, so it can be staged but takes no lock. */
export const takeRecordResponse = (draft: Draft, { packet }: ReceivedOf<"record_response">): void => {
  const { state, inputs } = draft;
  const { recordCore: core, routerAnchor, actionSignatures } = packet;
  const recordHash = Record.recordHashOf(core);
  const isMissing = state.behind?.missing?.recordHash === recordHash;
  if (!isMissing && !isWanted(draft, recordHash)) return noteUnasked(draft, recordHash);
  if (core.action.height !== nextHeight(state)) return;
  try {
    const members = verifyCore(inputs.trust, headOf(draft), recordHash, core);
    if (routerAnchor.kind === "completed_reanchor")
      Reanchor.verify(inputs.trust, inputs.members, routerAnchor);
    if (Reanchor.hashOf(routerAnchor) !== core.anchorHash) {
      throw new RecordError("anchor", "the enclosed anchor is not the one that the record names");
    }
    if (members.membershipHash !== inputs.members.membershipHash) {
      throw new RecordError("membership", "the record belongs to another membership");
    }
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return draft.note(`a fetched record was refused: ${error.message}`);
  }
  const { authorAgentId, postIntent } = core.action;
  if (draft.postUsed(authorAgentId, postIntent.postId)) {
    return draft.note("a fetched record repeats a certified post");
  }
  draft.keepAnchor(core.anchorHash, routerAnchor);
  // What the lane brought under an anchor that was never accepted here may still lack that anchor and its votes.
  if (draft.find(recordHash) === undefined) {
    const record = openRecordOf(recordHash, core, inputs.routerInstanceId, {
      authorSignature: null,
      laneSequence: null,
    });
    draft.addOpen(withKeptEvidence(draft, record), core);
  }
  keepVotes(draft, recordHash, "action", actionSignatures);
};
