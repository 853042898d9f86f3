// Catching up from peers: answering those who ask, and believing of the answers only what verifies whole.
// Implements HIS-45 to HIS-47.

import * as CanonicalJson from "../encoding/CanonicalJson.ts";
import type { HistoryRecord } from "../history/Evidence.ts";
import * as Record from "../history/Record.ts";
import { RecordError } from "../history/RecordError.ts";
import { type ChainHead, verifyCore, verifyNext } from "../history/VerifyRecord.ts";
import * as Limits from "../Limits.ts";
import { askOn, easeBehind, withKeptEvidence } from "./Behind.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import type { CertifiedRecord } from "./Packet.ts";
import { commitRecord, entriesOf, isActionCertified, routerAnchorOf } from "./Settle.ts";
import { nextHeight, openRecordOf } from "./State.ts";
import { keepVotes } from "./Votes.ts";

/** Room for the page's own fields beside its items. */
const pageFrameBytes = 1_024;

export const answerCatchUp = (draft: Draft, { from, packet }: ReceivedOf<"catch_up_request">): void => {
  const { reads, members } = draft.inputs;
  const known = packet.knownRecordHash === null ? -1 : reads.heightOf(packet.knownRecordHash);
  const page =
    known === null
      ? { records: [], hasMore: false }
      : reads.recordsAfter(known, Limits.packetBytesMax - pageFrameBytes);
  draft.unicast(from, {
    kind: "catch_up_page",
    conversationId: members.conversationId,
    afterRecordHash: packet.knownRecordHash,
    items: page.records.map(certifiedRecordOf),
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
  for (const record of verified) commitRecord(draft, record);
  draft.certificateSeen = verified.length > 0;
  if (verified.length > 0 && packet.hasMore) {
    // Who sent true records and has more of them is asked on, whether or not the target is reached.
    return askOn(draft, state.behind ?? { ...before, missing: null }, from);
  }
  if (state.behind === null) return;
  const answered = verified.length > 0 ? [] : state.behind.answered;
  state.behind = { ...state.behind, answered: [...new Set([...answered, from])] };
  easeBehind(draft);
};

/** Verifies a page whole, before anything of it is taken. Records at or below the head are passed over. */
const verifyPage = (
  draft: Draft,
  packet: ReceivedOf<"catch_up_page">["packet"],
): ReadonlyArray<HistoryRecord> => {
  const { inputs, state } = draft;
  let chain: ChainHead | null = state.head === null ? null : { ...state.head, members: inputs.members };
  const seen = new Set<string>();
  const verified: Array<HistoryRecord> = [];
  for (const item of packet.items) {
    if (item.kind !== "certified_record") {
      throw new RecordError("reanchor-unsupported", "the page holds a completed re-anchor");
    }
    const { kind: _, ...fields } = item;
    const { action } = item.recordCore;
    if (action.height < nextHeight(state)) continue;
    const record: HistoryRecord = { recordHash: Record.recordHashOf(item.recordCore), ...fields };
    chain = verifyNext(inputs.trust, chain, record, (author, postId) => {
      return seen.has(`${author} ${postId}`) || draft.postUsed(author, postId);
    });
    if (chain.members.membershipHash !== inputs.members.membershipHash) {
      throw new RecordError("membership", "the page belongs to another membership");
    }
    seen.add(`${action.authorAgentId} ${action.postIntent.postId}`);
    verified.push(record);
  }
  return verified;
};

export const answerRecordRequest = (draft: Draft, { from, packet }: ReceivedOf<"record_request">): void => {
  const { reads } = draft.inputs;
  const height = reads.heightOf(packet.recordHash);
  const certified = height === null ? null : reads.recordAt(height);
  if (certified !== null) {
    const { recordCore, routerAnchor, actionSignatures } = certified;
    return draft.unicast(from, { kind: "record_response", recordCore, routerAnchor, actionSignatures });
  }
  const open = draft.find(packet.recordHash);
  const routerAnchor = routerAnchorOf(draft);
  if (open === undefined || routerAnchor === null || !isActionCertified(draft, open)) return;
  draft.unicast(from, {
    kind: "record_response",
    recordCore: draft.core(open.recordHash),
    routerAnchor,
    actionSignatures: entriesOf(open.action),
  });
};

/** The core that an action certificate spoke about. It has no place in the lane, so it can be staged but takes no lock. */
export const takeRecordResponse = (draft: Draft, { packet }: ReceivedOf<"record_response">): void => {
  const { state, inputs } = draft;
  const { recordCore: core, actionSignatures } = packet;
  const wanted = state.behind?.missing?.recordHash;
  if (wanted === undefined || core.action.height !== nextHeight(state)) return;
  try {
    const head = state.head === null ? null : { ...state.head, members: inputs.members };
    const members = verifyCore(inputs.trust, head, wanted, core);
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
  const record = openRecordOf(wanted, core, { authorSignature: null, laneSequence: null });
  draft.addOpen(withKeptEvidence(draft, record), core);
  keepVotes(draft, wanted, "action", actionSignatures);
};
