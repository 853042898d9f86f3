// What can happen to a conversation, and the inputs that the fold takes with every event: time, keys, connection and reads.

import type { HistoryRecord, RouterAnchor } from "../history/Evidence.ts";
import type * as Membership from "../history/Membership.ts";
import type { PostIntent, RecordCore } from "../history/Record.ts";
import type { Trust } from "../history/VerifyRecord.ts";
import type { AgentId, AnchorHash, PostId, RecordHash, RouterInstanceId } from "../identity/Identifier.ts";
import type { Signer } from "../identity/Signing.ts";
import type { Packet, PacketKind, PacketOf } from "./Packet.ts";

/** A packet as its envelope brought it. `laneSequence` is null for a unicast: only the conversation's lane has an order. */
export interface Received<P extends Packet = Packet> {
  readonly kind: "packet";
  readonly from: AgentId;
  readonly laneSequence: number | null;
  readonly packet: P;
}

export type ReceivedOf<K extends PacketKind> = Received<PacketOf<K>>;

export type Event =
  | Received
  /** An own intent was persisted. */
  | { readonly kind: "submitted" }
  /** The store was opened again: timers of an earlier process mean nothing. */
  | { readonly kind: "resumed" }
  /** The lane has been folded to the tail that the Router named on connection. */
  | { readonly kind: "folded" }
  /** Retention at the Router ran out for this member. */
  | { readonly kind: "gap" }
  /** The store is older than what this member signed: its Router remembers more, or its owner put a backup back. */
  | { readonly kind: "restored" }
  /**
   * The owner asks for another round, or the endpoint found cause that the fold cannot see: a proof that the Router signed two
   * orders, or a gap that no member can fill.
   */
  | { readonly kind: "wish-round" }
  /** The owner wants an own intent, which has not ended, to come to nothing. */
  | { readonly kind: "withdraw"; readonly postId: PostId }
  | { readonly kind: "tick" };

/** Synchronous reads of what the state leaves outside. Writes of the running transition are not visible through them. */
export interface Reads {
  /** The oldest own intent without an outcome, passing over `except`. */
  readonly nextIntent: (
    except: ReadonlySet<PostId>,
  ) => { readonly intent: PostIntent; readonly createdAt: number } | null;
  /** The core of an open record. */
  readonly core: (recordHash: RecordHash) => RecordCore | null;
  /** Whether a certified record of this conversation carries (author, postId). */
  readonly postUsed: (author: AgentId, postId: PostId) => boolean;
  readonly heightOf: (recordHash: RecordHash) => number | null;
  /** Whether this member has it on disk that it signed such a vote. */
  readonly hasSigned: (
    vote: "action" | "durability" | "carry",
    recordHash: RecordHash,
    anchorHash: AnchorHash,
  ) => boolean;
  /** An anchor that was accepted here, whole. */
  readonly anchor: (anchorHash: AnchorHash) => RouterAnchor | null;
  readonly recordAt: (height: number) => HistoryRecord | null;
  /** Certified records above `height` (-1 for all) while their JCS bytes stay under the bound, at least one. */
  readonly recordsAfter: (
    height: number,
    bytesMax: number,
  ) => { readonly records: ReadonlyArray<HistoryRecord>; readonly hasMore: boolean };
}

export interface Inputs {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly self: AgentId;
  readonly members: Membership.Members;
  readonly signer: Signer;
  readonly trust: Trust;
  /** The instance that the endpoint is bound to, null before it ever met one. */
  readonly routerInstanceId: RouterInstanceId | null;
  /** Connected, and folded to the tail that the Router named: only then may anything be voted for or proposed. */
  readonly folded: boolean;
  /** Whether the owner's contact policy lets an agent open a conversation with this one. */
  readonly admits: (author: AgentId) => boolean;
  readonly reads: Reads;
}
