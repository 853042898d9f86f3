// Being behind: asking peers for records this member cannot commit, answering those who ask, and believing only what
// verifies whole. Implements HIS-43 to HIS-48.

import * as CanonicalJson from "../encoding/CanonicalJson.ts";
import type { HistoryRecord } from "../history/Evidence.ts";
import { faultsOf } from "../history/Quorum.ts";
import * as Record from "../history/Record.ts";
import { RecordError } from "../history/RecordError.ts";
import { type ChainHead, verifyCore, verifyNext } from "../history/VerifyRecord.ts";
import type { AgentId } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import type { CertifiedRecord } from "./Packet.ts";
import { commitRecord, isActionCertified } from "./Settle.ts";
import type { Behind } from "./State.ts";
import { nextHeight } from "./State.ts";

/** Room for the page's own fields beside its items. */
const pageFrameBytes = 1_024;

/** Sets the durable flag and asks the member that showed the evidence first. A later target replaces an earlier one. */
export const fallBehind = (draft: Draft, target: Behind["target"], from: AgentId | null): void => {
  const { state, inputs } = draft;
  const before = state.behind;
  if (before !== null) {
    if (target !== null && target.height > (before.target?.height ?? -1))
      state.behind = { ...before, target };
    return;
  }
  state.behind = {
    target,
    nextIndex: (inputs.members.indexOf(inputs.self) + 1) % inputs.members.n,
    askAt: inputs.now + Limits.catchUpMsMin,
    intervalMs: Limits.catchUpMsMin,
    answered: [],
  };
  if (from !== null && from !== inputs.self) ask(draft, from);
  else askNext(draft);
};

const ask = (draft: Draft, to: AgentId): void => {
  const { head, anchor } = draft.state;
  draft.unicast(to, {
    kind: "catch_up_request",
    conversationId: draft.inputs.members.conversationId,
    knownRecordHash: head?.recordHash ?? null,
    knownAnchorHash: anchor?.anchorHash ?? null,
  });
};

/** Asks the members in turn, at doubling intervals. */
export const askNext = (draft: Draft): void => {
  const { state, inputs } = draft;
  if (state.behind === null) return;
  let index = state.behind.nextIndex;
  if (inputs.members.ids[index] === inputs.self) index = (index + 1) % inputs.members.n;
  ask(draft, inputs.members.ids[index] as AgentId);
  state.behind = { ...state.behind, nextIndex: (index + 1) % inputs.members.n };
};

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
  if (state.behind === null) return;
  let verified: ReadonlyArray<HistoryRecord>;
  try {
    verified = verifyPage(draft, packet);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    draft.note(`a catch-up page was refused: ${error.message}`);
    return askNext(draft);
  }
  for (const record of verified) commitRecord(draft, record);
  if (verified.length > 0) draft.certificateSeen = true;
  if (state.behind === null) return;
  if (packet.hasMore && verified.length > 0) {
    state.behind = { ...state.behind, answered: [] };
    return ask(draft, from);
  }
  const answered = [...new Set([...state.behind.answered, from])];
  // One honest member among f + 1 says that there is nothing more to have now; newer evidence will start anew.
  if (answered.length > faultsOf(draft.inputs.members.n)) state.behind = null;
  else {
    state.behind = { ...state.behind, answered };
    askNext(draft);
  }
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
  const { reads, members } = draft.inputs;
  const height = reads.heightOf(packet.recordHash);
  const certified = height === null ? null : reads.recordAt(height);
  if (certified !== null) {
    draft.unicast(from, {
      kind: "record_response",
      recordCore: certified.recordCore,
      routerAnchor: certified.routerAnchor,
      actionSignatures: certified.actionSignatures,
    });
    return;
  }
  const open = draft.find(packet.recordHash);
  const { anchor } = draft.state;
  if (open === undefined || anchor === null || !isActionCertified(draft, open)) return;
  draft.unicast(from, {
    kind: "record_response",
    recordCore: draft.core(open.recordHash),
    routerAnchor: {
      kind: "genesis_anchor",
      conversationId: members.conversationId,
      membershipHash: members.membershipHash,
      round: anchor.round,
      routerInstanceId: anchor.routerInstanceId,
    },
    actionSignatures: members.ids.flatMap((signerAgentId) => {
      const signature = open.action[signerAgentId];
      return signature === undefined ? [] : [{ signerAgentId, signature }];
    }),
  });
};

/** The core that an action certificate spoke about. It has no place in the lane, so it can be staged but takes no lock. */
export const takeRecordResponse = (draft: Draft, { packet }: ReceivedOf<"record_response">): void => {
  const { state, inputs } = draft;
  const { recordCore: core } = packet;
  const recordHash = Record.recordHashOf(core);
  if (state.behind?.target?.recordHash !== recordHash || draft.find(recordHash) !== undefined) return;
  try {
    const head = state.head === null ? null : { ...state.head, members: inputs.members };
    const members = verifyCore(inputs.trust, head, recordHash, core);
    if (members.membershipHash !== inputs.members.membershipHash) return;
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return draft.note(`a fetched record was refused: ${error.message}`);
  }
  const { action } = core;
  if (draft.postUsed(action.authorAgentId, action.postIntent.postId)) return;
  draft.addOpen(
    {
      recordHash,
      actionHash: core.actionHash,
      height: action.height,
      previousRecordHash: action.previousRecordHash,
      anchorHash: core.anchorHash,
      author: action.authorAgentId,
      postId: action.postIntent.postId,
      postIntentHash: action.postIntentHash,
      authorSignature: null,
      laneSequence: null,
      action: {},
      durability: {},
    },
    core,
  );
  state.behind = null;
};
