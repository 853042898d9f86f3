// The durable state of one conversation at one member: plain JSON, small, replaced whole in each turn's transaction.
// Contents of posts stay outside: the state names records by hash. Implements HIS-37.

import type { CompletedReanchor } from "../history/Evidence.ts";
import type { RecordCore } from "../history/Record.ts";
import type { Refusal } from "../history/Statement.ts";
import type { VoteSubject } from "../history/VerifyRecord.ts";
import type {
  ActionHash,
  AgentId,
  AnchorHash,
  Ed25519Signature,
  PostId,
  PostIntentHash,
  RecordHash,
  RouterInstanceId,
} from "../identity/Identifier.ts";
import type { Recovered, Restored } from "./Restoration.ts";
import type { StatementPacket } from "./Packet.ts";

export type SignerMap = { readonly [signer: AgentId]: Ed25519Signature };

/** What votes name about a record of this conversation. */
export interface Named {
  readonly recordHash: RecordHash;
  readonly actionHash: ActionHash;
  readonly height: number;
  readonly previousRecordHash: RecordHash | null;
  readonly anchorHash: AnchorHash;
}

/** A record and every verified vote for it, by signer. */
export interface Voted extends Named {
  readonly action: SignerMap;
  readonly durability: SignerMap;
}

/** A record above the certified head whose core is held: a proposal from the lane, an own one, or one fetched by hash. */
export interface OpenRecord extends Voted {
  readonly author: AgentId;
  readonly postId: PostId;
  readonly postIntentHash: PostIntentHash;
  readonly authorSignature: Ed25519Signature | null;
  /** It is a GENESIS that brings the anchor of round 0 along, of the Router that this member is bound to: it needs no accepted one. */
  readonly isFirst: boolean;
  /** Its author's place in the lane; null until the lane brought it. Only a record with a place can take the lock. */
  readonly laneSequence: number | null;
  /** The first places in the lane where other members passed it on. */
  readonly relays: { readonly [relayer: AgentId]: number };
  /** The carry certificate of the latest round that made it prepared anew. */
  readonly carry: {
    readonly anchorHash: AnchorHash;
    readonly round: number;
    readonly votes: SignerMap;
  } | null;
  /** Its author's signed withdrawal. */
  readonly withdrawal: Ed25519Signature | null;
  /** Members who refused it, this one included: they never voted for it and never will. */
  readonly refusals: {
    readonly [signer: AgentId]: { readonly reason: Refusal["reason"]; readonly signature: Ed25519Signature };
  };
}

/** A core as it becomes open, without a vote yet. */
export const openRecordOf = (
  recordHash: RecordHash,
  core: RecordCore,
  routerInstanceId: RouterInstanceId | null,
  place: Pick<OpenRecord, "authorSignature" | "laneSequence">,
): OpenRecord => ({
  recordHash,
  actionHash: core.actionHash,
  height: core.action.height,
  previousRecordHash: core.action.previousRecordHash,
  anchorHash: core.anchorHash,
  author: core.action.authorAgentId,
  postId: core.action.postIntent.postId,
  postIntentHash: core.action.postIntentHash,
  isFirst:
    core.action.kind === "genesis" &&
    core.action.anchor.kind === "genesis_anchor" &&
    core.action.anchor.routerInstanceId === routerInstanceId,
  ...place,
  relays: {},
  carry: null,
  withdrawal: null,
  refusals: {},
  action: {},
  durability: {},
});

export interface Head {
  readonly height: number;
  readonly recordHash: RecordHash;
  readonly anchorHash: AnchorHash;
}

/** The accepted anchor. That of round 0 is accepted with the first lock or own proposal of GENESIS. */
export interface AcceptedAnchor {
  readonly anchorHash: AnchorHash;
  readonly round: number;
  readonly routerInstanceId: RouterInstanceId;
  /** Where its round begins; null at the beginning of the chain. */
  readonly base: { readonly height: number; readonly recordHash: RecordHash } | null;
  /** The prepared record that goes first. */
  readonly carried: RecordHash | null;
}

/** Votes under the accepted anchor for the record that it carries. */
export interface Carrying {
  readonly carry: SignerMap;
  readonly durability: SignerMap;
}

/** What this member signed in the slot (head + 1, round of the anchor). */
export interface Slot {
  /** The first valid proposal in lane order: the only one that gets this member's lock vote. */
  readonly lock: RecordHash | null;
  /** The record that the lock vote was cast for; follows `lock` once the lane is folded to its tail. */
  readonly actionVote: RecordHash | null;
  /** The one record that this member's durability vote names. */
  readonly durabilityVote: RecordHash | null;
  /** This member multicast the action certificate, its durability vote inside: the whole lane has that vote. */
  readonly certificateSent: boolean;
  /** This member signed its carry vote for the carried record. */
  readonly carryVote: boolean;
  /** As leader of the round this member passed on the proposal that opens it. */
  readonly relayed: boolean;
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

/** A proven action certificate of a record whose core is not held: the evidence is kept, the core asked for. */
export interface Missing extends Voted {
  /** The member that showed it; once the core is here, the durability vote goes back to it. */
  readonly from: AgentId;
}

/** Evidence of something that this member cannot commit. Asked about until it can; it stops no vote. */
export interface Behind {
  /** The highest record that evidence spoke of. A claim until `missing` proves it. */
  readonly target: { readonly height: number; readonly recordHash: RecordHash } | null;
  /** The Router lost envelopes for this member: nobody can say what they held. */
  readonly gap: boolean;
  readonly missing: Missing | null;
  /** The member that is asked next, by its place in the membership. */
  readonly nextIndex: number;
  /** null while this member is not connected: it asks again when it has folded the lane. */
  readonly askAt: number | null;
  readonly intervalMs: number;
  /** Members who answered, since the last record that came, that they hold nothing more. */
  readonly answered: ReadonlyArray<AgentId>;
}

/** Changing rounds: what was heard, what this member is bound to, and what it would accept next. */
export interface Rounds {
  /** The highest round that a statement or an accepted anchor binds this member to. Votes below it have ended. */
  readonly bound: number;
  /** The highest round that this member wished for; binds nobody. */
  readonly wish: number;
  /** The highest rounds that others wished for or stated, and those that they stated with proof. */
  readonly wishes: { readonly [signer: AgentId]: number };
  readonly stated: { readonly [signer: AgentId]: number };
  /** The own statement for `bound`, until its anchor is accepted. */
  readonly own: StatementPacket | null;
  /** At a round's leader: the proven statements of others that it may complete the round from. */
  readonly statements: ReadonlyArray<StatementPacket>;
  /** The highest preparations that statements proved, by record. */
  readonly proven: { readonly [recordHash: RecordHash]: number };
  /** A true re-anchor that cannot be accepted yet: its base or its carried record is not here. */
  readonly pending: CompletedReanchor | null;
  /** The anchor of a later round that each member showed in a catch-up page. */
  readonly shown: { readonly [member: AgentId]: AnchorHash };
  /** How often each other has stated the round of the accepted anchor again: it has found no anchor that it can accept. */
  readonly restated: { readonly [member: AgentId]: number };
  /** This member completed the round that it leads. */
  readonly completed: number;
  /** A member showed its vote in the open slot for a record that is not here: work that this member cannot see. */
  readonly called: boolean;
  /** Others moved this member to a round: until its anchor is accepted they move it no further before this; null when they may. */
  readonly restsUntil: number | null;
  readonly stall: { readonly at: number; readonly intervalMs: number } | null;
  /** Members heard since the last progress. */
  readonly heard: ReadonlyArray<AgentId>;
}

export const noRounds: Rounds = {
  bound: 0,
  wish: 0,
  wishes: {},
  stated: {},
  own: null,
  statements: [],
  proven: {},
  pending: null,
  shown: {},
  restated: {},
  completed: 0,
  called: false,
  restsUntil: null,
  stall: null,
  heard: [],
};

/** The round that this member is past: bound to, or wishing for. */
export const reached = ({ bound, wish }: Rounds): number => Math.max(bound, wish);

/** What is kept of a void record: enough to know it again, and to say again why. */
export interface VoidRecord extends Pick<Named, "recordHash" | "actionHash" | "height"> {
  readonly author: AgentId;
  /** This member's own refusal, where it was among the refusers. */
  readonly refusal: OpenRecord["refusals"][AgentId] | null;
}

/** An own intent that was proposed and is to come to nothing. */
export interface Withdrawing {
  readonly postId: PostId;
  /** Its end was reported already. */
  readonly told: boolean;
  /**
   * The height at which it may still be certified, by a proposal that is open or by one of an earlier round that some
   * member holds a certificate of; null when there is none.
   */
  readonly height: number | null;
}

export interface State {
  readonly version: 1;
  readonly head: Head | null;
  readonly anchor: AcceptedAnchor | null;
  readonly slot: Slot;
  readonly carrying: Carrying;
  readonly rounds: Rounds;
  /** In the order in which they became known; judged by lane place. */
  readonly open: ReadonlyArray<OpenRecord>;
  /** The own proposal that is out for head + 1. */
  readonly proposal: { readonly recordHash: RecordHash; readonly postId: PostId } | null;
  /** The oldest own intent, once it has been proposed at any height: it can no longer simply expire. */
  readonly everProposed: PostId | null;
  /** Own intents that are to come to nothing: they are proposed no more. */
  readonly withdrawing: ReadonlyArray<Withdrawing>;
  /** Records above the head that refusals proved void: they are never judged again. */
  readonly voids: ReadonlyArray<VoidRecord>;
  /** After an own record the authors in `yieldTo` go first until then. */
  readonly yieldUntil: number | null;
  /** Authors whose losing proposal was seen, in time or late, and of whom nothing was certified since. */
  readonly yieldTo: ReadonlyArray<AgentId>;
  /** Runs only while this member is connected and has folded the lane. */
  readonly silence: Silence | null;
  readonly spread: Spread | null;
  readonly behind: Behind | null;
  readonly restored: Restored | null;
  readonly recovered: Recovered | null;
}

export const emptySlot: Slot = {
  lock: null,
  actionVote: null,
  durabilityVote: null,
  certificateSent: false,
  carryVote: false,
  relayed: false,
};

export const emptyCarrying: Carrying = { carry: {}, durability: {} };

export const initial: State = {
  version: 1,
  head: null,
  anchor: null,
  slot: emptySlot,
  carrying: emptyCarrying,
  rounds: noRounds,
  open: [],
  proposal: null,
  everProposed: null,
  withdrawing: [],
  voids: [],
  yieldUntil: null,
  yieldTo: [],
  silence: null,
  spread: null,
  behind: null,
  restored: null,
  recovered: null,
};

/** Where a conversation stands; the rows of the transition table. */
export type Phase = "opening" | "open" | "behind";

export const phaseOf = (state: State): Phase =>
  state.behind !== null ? "behind" : state.head === null ? "opening" : "open";

/** The height of the open slot. */
export const nextHeight = (state: State): number => (state.head === null ? 0 : state.head.height + 1);

/**
 * Whether a record could be the next one: its predecessor is the head and its anchor the accepted one. Before any is
 * accepted only a GENESIS of round 0 can be.
 */
export const follows = (state: State, record: OpenRecord): boolean =>
  record.height === nextHeight(state) &&
  record.previousRecordHash === (state.head?.recordHash ?? null) &&
  (state.anchor === null ? record.isFirst : record.anchorHash === state.anchor.anchorHash);

/** Whether a record could be certified next: it follows, or it is what the accepted anchor carries. */
export const isNext = (state: State, record: OpenRecord): boolean =>
  follows(state, record) ||
  (state.anchor !== null &&
    record.recordHash === state.anchor.carried &&
    record.previousRecordHash === (state.head?.recordHash ?? null));

/** Whether the record that the accepted anchor carries is still to be certified: nothing else goes before it. */
export const isCarrying = ({ anchor, head }: State): boolean =>
  anchor !== null &&
  anchor.carried !== null &&
  (anchor.base?.recordHash ?? null) === (head?.recordHash ?? null);

/** Whether this member votes at all: it is not bound to a round whose anchor it has yet to accept. */
export const isVoting = ({ anchor, rounds }: State): boolean => (anchor?.round ?? 0) === rounds.bound;

/** Whether the open height is the first that a round after the first opens: there its leader goes before everybody. */
export const isOpening = (state: State): boolean => {
  const { anchor } = state;
  if (anchor === null || anchor.round === 0) return false;
  return nextHeight(state) === (anchor.base?.height ?? -1) + (anchor.carried === null ? 1 : 2);
};

/** Whether the slot's record is known from its action certificate: whatever else is tried in it is in vain. */
export const isDecided = (state: State): boolean =>
  state.slot.durabilityVote !== null || (state.behind !== null && state.behind.missing !== null);

export const subjectOf = (named: Named, conversationId: VoteSubject["conversationId"]): VoteSubject => ({
  conversationId,
  height: named.height,
  previousRecordHash: named.previousRecordHash,
  anchorHash: named.anchorHash,
  recordHash: named.recordHash,
  actionHash: named.actionHash,
});

/** Whether something is under way that this member takes part in: without it no round has a cause. */
export const isUnderWay = (state: State): boolean =>
  state.proposal !== null ||
  state.slot.actionVote !== null ||
  state.slot.durabilityVote !== null ||
  isCarrying(state) ||
  !isVoting(state);

/**
 * Whether the slot has a candidate, voted for or not, here or at another member: at the first height of a round the leader may
 * keep it from all votes, and a liar may keep it from some members. A certificate whose record nobody shows is one as well: it
 * stops this member's own proposals, and only a round can end that.
 */
export const hasCandidate = (state: State): boolean =>
  state.rounds.called ||
  state.slot.lock !== null ||
  (state.behind !== null && state.behind.missing !== null) ||
  state.open.some((record) => follows(state, record));

/** What this member repeats when all is silent: its part in what is under way, and its wish for a round. */
export const hasOpenWork = (state: State): boolean =>
  isUnderWay(state) || state.rounds.wish > state.rounds.bound;

/** The earliest time at which a `tick` would do something, or null. The expiry of intents is not among them. */
export const nextWake = (state: State): number | null => {
  const times = [
    state.silence?.at,
    state.spread?.at,
    state.yieldUntil,
    state.behind?.askAt,
    state.rounds.stall?.at,
    state.rounds.restsUntil,
    state.restored?.askAt,
  ].filter((time) => time !== undefined && time !== null);
  return times.length === 0 ? null : Math.min(...times);
};
