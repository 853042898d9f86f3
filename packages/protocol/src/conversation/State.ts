// The durable state of one conversation at one member: plain JSON, small, replaced whole in each turn's transaction.
// Contents of posts stay outside: the state names records by hash. Implements HIS-20.

import type { VoteSubject } from "../history/VerifyRecord.ts";
import type {
  ActionHash,
  AgentId,
  AnchorHash,
  Ed25519Signature,
  PostId,
  RecordHash,
} from "../identity/Identifier.ts";
import type { RouterInstanceId } from "../identity/Identifier.ts";
import type { PostIntentHash } from "../identity/Identifier.ts";

export type SignerMap = { readonly [signer: AgentId]: Ed25519Signature };

/** A record above the certified head whose core is held: a proposal from the lane, an own one, or one fetched by hash. */
export interface OpenRecord {
  readonly recordHash: RecordHash;
  readonly actionHash: ActionHash;
  readonly height: number;
  readonly previousRecordHash: RecordHash | null;
  readonly anchorHash: AnchorHash;
  readonly author: AgentId;
  readonly postId: PostId;
  readonly postIntentHash: PostIntentHash;
  readonly authorSignature: Ed25519Signature | null;
  /** Its place in the lane; null until the lane brought it. Only a record with a place can take the lock. */
  readonly laneSequence: number | null;
  readonly action: SignerMap;
  readonly durability: SignerMap;
}

export interface Head {
  readonly height: number;
  readonly recordHash: RecordHash;
  readonly anchorHash: AnchorHash;
}

/** The accepted anchor; it is accepted with the first lock or own proposal of GENESIS. */
export interface AcceptedAnchor {
  readonly anchorHash: AnchorHash;
  readonly round: number;
  readonly routerInstanceId: RouterInstanceId;
}

/** What this member signed in the slot (head + 1, round of the anchor). */
export interface Slot {
  /** The first valid proposal in lane order: the only one that gets this member's lock vote. */
  readonly lock: RecordHash | null;
  /** The record that the lock vote was cast for; follows `lock` once the lane is folded to its tail. */
  readonly actionVote: RecordHash | null;
  /** The one record that this member's durability vote names. */
  readonly durabilityVote: RecordHash | null;
  /** This member multicast the action certificate of its own record. */
  readonly certificateSent: boolean;
}

export interface Silence {
  readonly at: number;
  readonly intervalMs: number;
}

/** A completed certificate that this member spreads unless another is seen to do it first. */
export interface Spread {
  readonly what: "action-certificate" | "certified-notice";
  readonly recordHash: RecordHash;
  readonly at: number;
}

/** Evidence of a record that this member cannot commit; asked for until it can, or until enough members know of none. */
export interface Behind {
  readonly target: { readonly height: number; readonly recordHash: RecordHash } | null;
  readonly nextIndex: number;
  readonly askAt: number;
  readonly intervalMs: number;
  /** Members who answered that they hold nothing more. */
  readonly answered: ReadonlyArray<AgentId>;
}

export interface State {
  readonly version: 1;
  readonly head: Head | null;
  readonly anchor: AcceptedAnchor | null;
  readonly slot: Slot;
  /** In the order in which they became known; judged by lane place. */
  readonly open: ReadonlyArray<OpenRecord>;
  /** The own proposal that is out for head + 1. */
  readonly proposal: { readonly recordHash: RecordHash; readonly postId: PostId } | null;
  /** The oldest own intent, once it has been proposed at any height: it can no longer simply expire. */
  readonly everProposed: PostId | null;
  /** Other authors go first until then. */
  readonly yieldUntil: number | null;
  readonly silence: Silence | null;
  readonly spread: Spread | null;
  readonly behind: Behind | null;
}

export const emptySlot: Slot = { lock: null, actionVote: null, durabilityVote: null, certificateSent: false };

export const initial: State = {
  version: 1,
  head: null,
  anchor: null,
  slot: emptySlot,
  open: [],
  proposal: null,
  everProposed: null,
  yieldUntil: null,
  silence: null,
  spread: null,
  behind: null,
};

/** Where a conversation stands; the rows of the transition table. */
export type Phase = "opening" | "open" | "behind";

export const phaseOf = (state: State): Phase =>
  state.behind !== null ? "behind" : state.head === null ? "opening" : "open";

/** The height of the open slot. */
export const nextHeight = (state: State): number => (state.head === null ? 0 : state.head.height + 1);

/** Whether a record could be the next one: its predecessor is the head and its anchor the accepted one. */
export const follows = (state: State, record: OpenRecord): boolean =>
  record.height === nextHeight(state) &&
  record.previousRecordHash === (state.head?.recordHash ?? null) &&
  (state.anchor === null ? state.head === null : record.anchorHash === state.anchor.anchorHash);

export const subjectOf = (
  record: OpenRecord,
  conversationId: VoteSubject["conversationId"],
): VoteSubject => ({
  conversationId,
  height: record.height,
  previousRecordHash: record.previousRecordHash,
  anchorHash: record.anchorHash,
  recordHash: record.recordHash,
  actionHash: record.actionHash,
});

/** Whether this member signed something in the open slot, or has its own proposal out: work that silence repeats. */
export const hasOpenWork = (state: State): boolean =>
  state.proposal !== null || state.slot.actionVote !== null || state.slot.durabilityVote !== null;

/** The earliest time at which a `tick` would do something, or null. */
export const nextWake = (state: State): number | null => {
  const times = [state.silence?.at, state.spread?.at, state.yieldUntil, state.behind?.askAt].filter(
    (time) => time !== undefined && time !== null,
  );
  return times.length === 0 ? null : Math.min(...times);
};
