// Proposals that come to nothing: an author's withdrawal, the refusals of members who never voted and never will, and the
// void that enough of them prove. A void record can never be certified, so whoever is locked on it is free again.
// Knows what policy said, not why. Implements HIS-150 to HIS-157.

import * as Statement from "../history/Statement.ts";
import * as Void from "../history/Void.ts";
import type { AgentId, PostId } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import { maySign } from "./OwnVotes.ts";
import { mayHaveVotedFor, oldIntents } from "./Restored.ts";
import { nextHeight, type OpenRecord, type VoidRecord, type Withdrawing } from "./State.ts";

/** Whether a record is one that this member has refused: it gets no lock and no action vote of it, ever. */
export const isRefused = ({ inputs }: Draft, record: OpenRecord): boolean => inputs.self in record.refusals;

/** Whether this member has proof that a record can never be certified. */
export const isVoid = ({ state }: Draft, recordHash: OpenRecord["recordHash"]): boolean =>
  state.voids.some((gone) => gone.recordHash === recordHash);

/** Whether so many proposals of an author came to nothing that no more of it can be remembered: it is not heard until then. */
export const isUnheard = ({ state }: Draft, author: AgentId): boolean =>
  state.voids.filter((gone) => gone.author === author).length >= Limits.voidsPerAuthorMax;

const byAction = ({ state }: Draft, actionHash: OpenRecord["actionHash"]): OpenRecord | undefined =>
  state.open.find((record) => record.actionHash === actionHash);

// ---------- withdrawals

/** Kept beside its proposal: whoever has not voted for that refuses it. */
export const takeWithdrawal = (
  draft: Draft,
  { from, laneSequence, packet }: ReceivedOf<"withdrawal">,
): void => {
  const { signature, ...statement } = packet;
  const record = byAction(draft, statement.actionHash);
  if (record === undefined || record.withdrawal !== null) return;
  const card = draft.inputs.members.cardOf(from);
  const isBelieved =
    laneSequence !== null &&
    statement.authorAgentId === from &&
    record.author === from &&
    card !== undefined &&
    Statement.verify(draft.inputs.trust.verifier, card.signingKey, statement, signature);
  if (!isBelieved) return draft.note("a withdrawal is not the author's, or came outside the lane");
  draft.replaceOpen({ ...record, withdrawal: signature });
};

/** The owner wants an own intent to come to nothing. What nobody has seen ends at once; the rest is asked of the members. */
export const withdraw = (draft: Draft, { postId }: { readonly postId: PostId }): void => {
  const { state } = draft;
  if (isWithdrawing(draft, postId)) return;
  // Nor can it be said of what a lost memory may have proposed: that ends by itself when this member is back.
  if (oldIntents(draft).has(postId)) return;
  if (state.everProposed !== postId) return end(draft, postId, "withdrawn");
  beginWithdrawing(draft, postId, false);
};

const isWithdrawing = ({ state }: Draft, postId: PostId): boolean =>
  state.withdrawing.some((withdrawn) => withdrawn.postId === postId);

const beginWithdrawing = (draft: Draft, postId: PostId, told: boolean): void => {
  const { state } = draft;
  const isOut = ownOf(draft, postId).length > 0 || hadEarlierRound(draft);
  state.withdrawing = [...state.withdrawing, { postId, told, height: isOut ? nextHeight(state) : null }];
};

/** Whether proposals for the open height were made in an earlier round: who holds a certificate of one may bring it back. */
const hadEarlierRound = ({ state }: Draft): boolean =>
  state.anchor !== null &&
  state.anchor.round > 0 &&
  nextHeight(state) === (state.anchor.base?.height ?? -1) + 1;

/** The own proposals of the intent that is withdrawn: at most one a round, and those that are kept from earlier ones. */
const ownOf = ({ state, inputs }: Draft, postId: PostId): ReadonlyArray<OpenRecord> =>
  state.open.filter((record) => record.author === inputs.self && record.postId === postId);

/** Signs the withdrawal of every own proposal of the intent, once each, and tells everybody. */
const withdrawProposal = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  if (state.withdrawing.length === 0 || !maySign(draft)) return false;
  const records = state.withdrawing
    .flatMap(({ postId }) => ownOf(draft, postId))
    .filter(({ withdrawal }) => withdrawal === null);
  for (const record of records) {
    const statement = {
      kind: "withdrawal" as const,
      authorAgentId: inputs.self,
      actionHash: record.actionHash,
    };
    const signature = Statement.sign(inputs.signer, statement);
    draft.replaceOpen({ ...record, withdrawal: signature });
    draft.multicast({ ...statement, signature });
  }
  return records.length > 0;
};

// ---------- refusals

/** Kept beside the record that it refuses: enough of them make it void. */
export const takeRefusal = (draft: Draft, { from, laneSequence, packet }: ReceivedOf<"refusal">): void => {
  const record = byAction(draft, packet.actionHash);
  if (record === undefined || from in record.refusals) return;
  const isBelieved =
    laneSequence !== null &&
    packet.signerAgentId === from &&
    Void.isSigned(draft.inputs.trust, draft.inputs.members, packet);
  if (!isBelieved) return draft.note("a refusal is not its sender's, or came outside the lane");
  const { reason, signature } = packet;
  draft.replaceOpen({ ...record, refusals: { ...record.refusals, [from]: { reason, signature } } });
  draft.progressed = true;
};

/** Why this member will not vote for a record, or null. Content is never a reason: that is the recipient's firewall's. */
const reasonOf = ({ inputs }: Draft, record: OpenRecord): Statement.Refusal["reason"] | null => {
  if (record.withdrawal !== null) return "withdrawn";
  const isForeignGenesis = record.height === 0 && record.author !== inputs.self;
  return isForeignGenesis && !inputs.admits(record.author) ? "contact-policy" : null;
};

/** Refuses what will get no vote of this member: only where it has not cast one, and for good. */
const refuse = (draft: Draft): boolean => {
  const { inputs } = draft;
  if (!maySign(draft)) return false;
  for (const record of draft.state.open) {
    if (inputs.self in record.action || isRefused(draft, record)) continue;
    const reason = reasonOf(draft, record);
    // A record may have gone with its round and come again: the vote for it is on disk, no longer beside it.
    if (reason === null || mayHaveVotedFor(draft, record)) continue;
    const statement = {
      kind: "refusal" as const,
      signerAgentId: inputs.self,
      actionHash: record.actionHash,
      reason,
    };
    const signature = Statement.sign(inputs.signer, statement);
    draft.replaceOpen({
      ...record,
      refusals: { ...record.refusals, [inputs.self]: { reason, signature } },
    });
    draft.multicast({ ...statement, signature });
    return true;
  }
  return false;
};

/** Says an own refusal again: whoever repeats a proposal has not heard it. */
export const repeatRefusal = (draft: Draft, { actionHash, refusals }: OpenRecord): void =>
  sayRefusal(draft, actionHash, refusals[draft.inputs.self] ?? null);

/** The same for a record that is void already, and gone but for its hash. */
export const repeatVoid = (draft: Draft, recordHash: OpenRecord["recordHash"]): void => {
  const gone = draft.state.voids.find((other) => other.recordHash === recordHash);
  if (gone !== undefined) sayRefusal(draft, gone.actionHash, gone.refusal);
};

const sayRefusal = (draft: Draft, actionHash: OpenRecord["actionHash"], own: VoidRecord["refusal"]): void => {
  const { self, folded } = draft.inputs;
  if (own !== null && folded) draft.multicast({ kind: "refusal", signerAgentId: self, actionHash, ...own });
};

/** An own proposal whose end was asked for is said again together with the wish that it end. */
export const repeatWithdrawals = (draft: Draft): void => {
  const { state, inputs } = draft;
  if (!inputs.folded) return;
  const own = state.withdrawing.flatMap(({ postId }) => ownOf(draft, postId));
  for (const { actionHash, withdrawal } of own) {
    if (withdrawal !== null)
      draft.multicast({ kind: "withdrawal", authorAgentId: inputs.self, actionHash, signature: withdrawal });
  }
};

// ---------- what follows

/** Enough refusals: the record goes, its lock and the vote for it with it. Its hash is kept while it could come back. */
const releaseVoid = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const record = state.open.find(
    ({ height, refusals }) => Object.keys(refusals).length >= Void.refusalsNeeded(inputs.members.n, height),
  );
  if (record === undefined) return false;
  const { recordHash, actionHash, height, author } = record;
  const { slot, proposal } = state;
  const refusal = record.refusals[inputs.self] ?? null;
  state.voids = [...state.voids, { recordHash, actionHash, height, author, refusal }];
  if (inputs.self in record.action) draft.commands.push({ kind: "void-vote", recordHash });
  if (slot.lock === recordHash || slot.actionVote === recordHash) {
    state.slot = { ...slot, lock: null, actionVote: null, relayed: false };
  }
  if (proposal?.recordHash === recordHash) state.proposal = null;
  if (state.spread?.recordHash === recordHash) state.spread = null;
  draft.keepOpen((other) => other.recordHash !== recordHash);
  leaveGenesisAnchor(draft);
  if (record.author === inputs.self && !hadEarlierRound(draft)) {
    state.withdrawing = state.withdrawing.map((withdrawn) =>
      withdrawn.postId === record.postId ? { ...withdrawn, height: null } : withdrawn,
    );
  }
  return true;
};

/**
 * Who voted under the anchor of round 0 for nothing but what is void has as good as not voted: it may meet another Router's
 * GENESIS as if it had seen none, instead of waiting for a round that those who never saw this one have no cause for.
 */
const leaveGenesisAnchor = ({ state, inputs }: Draft): void => {
  const isUnbound = state.head === null && state.rounds.bound === 0 && state.anchor?.round === 0;
  const hasVoted = state.open.some((record) => inputs.self in record.action);
  if (isUnbound && !hasVoted && state.slot.lock === null && state.proposal === null) state.anchor = null;
};

/**
 * The author of a GENESIS stops at the first refusal and says so: with one member against it there is no conversation. In a
 * group it votes last, so until then nothing can be certified without it, and from then on it refuses what it withdraws; when
 * it has voted, all others have, and a refusal is a lie.
 */
const stopRefused = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  for (const { author, height, refusals, postId, action } of state.open) {
    const isOut = author === inputs.self && height === 0 && state.everProposed === postId;
    const hasVoted = inputs.members.n > 2 && inputs.self in action;
    if (!isOut || hasVoted || isWithdrawing(draft, postId)) continue;
    const by = inputs.members.ids.find((id) => id !== inputs.self && id in refusals);
    if (by === undefined) continue;
    beginWithdrawing(draft, postId, true);
    forget(draft, postId);
    draft.commands.push({ kind: "intent-ended", postId, outcome: "refused", by });
    return true;
  }
  return false;
};

/** A withdrawn intent has ended once no proposal of it can be certified any more: void, or another stands at its height. */
const endWithdrawn = (draft: Draft): boolean => {
  const { state } = draft;
  const isOver = ({ postId, height }: Withdrawing): boolean =>
    ownOf(draft, postId).length === 0 && (height === null || nextHeight(state) > height);
  const over = state.withdrawing.find(isOver);
  if (over === undefined) return false;
  state.withdrawing = state.withdrawing.filter((withdrawn) => withdrawn !== over);
  if (!over.told) end(draft, over.postId, "withdrawn");
  return true;
};

/** An intent that has ended is looked at no more. */
const forget = (draft: Draft, postId: PostId): void => {
  if (draft.state.everProposed === postId) draft.state.everProposed = null;
  draft.endedIntents.add(postId);
};

const end = (draft: Draft, postId: PostId, outcome: "withdrawn" | "outcome-unknown"): void => {
  forget(draft, postId);
  draft.commands.push({ kind: "intent-ended", postId, outcome });
};

/**
 * An own intent whose lifetime is over. Nobody saw it: it has come to nothing. It was proposed: the members are asked, and
 * when they have not settled it in time nobody can say.
 */
export const expire = (draft: Draft, postId: PostId, expiredAt: number): void => {
  const { state, inputs } = draft;
  if (!isWithdrawing(draft, postId)) {
    if (state.everProposed !== postId) return end(draft, postId, "outcome-unknown");
    beginWithdrawing(draft, postId, false);
  }
  if (expiredAt + Limits.withdrawalMs > inputs.now) return;
  state.withdrawing = state.withdrawing.map((withdrawn) =>
    withdrawn.postId === postId ? { ...withdrawn, told: true } : withdrawn,
  );
  end(draft, postId, "outcome-unknown");
};

/** Stop what was refused, withdraw, refuse what gets no vote of this member, and let go of what is void or has ended. */
export const settleRefusals = (draft: Draft): boolean =>
  stopRefused(draft) || withdrawProposal(draft) || refuse(draft) || releaseVoid(draft) || endWithdrawn(draft);
