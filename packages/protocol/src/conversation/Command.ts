// What a transition asks of the endpoint. All writes of one transition, the new state included, are one transaction;
// sends leave as envelopes that the same transaction stored. Nothing here has happened yet.

import type { HistoryRecord, RouterAnchor } from "../history/Evidence.ts";
import type { RecordCore } from "../history/Record.ts";
import type { AgentId, AnchorHash, Ed25519Signature, PostId, RecordHash } from "../identity/Identifier.ts";
import type { Packet } from "./Packet.ts";

export type Command =
  /** Keep the core of an open record. */
  | { readonly kind: "keep-core"; readonly recordHash: RecordHash; readonly core: RecordCore }
  /** Forget the core of a record that can no longer be certified, or that is certified now. */
  | { readonly kind: "drop-core"; readonly recordHash: RecordHash }
  /** An anchor was accepted, or shown to have been by a certified record. Kept for ever: evidence and catch-up name it. */
  | { readonly kind: "keep-anchor"; readonly anchorHash: AnchorHash; readonly anchor: RouterAnchor }
  /** A vote that was signed in this transition. Its row is the last defence against a conflicting one. */
  | {
      readonly kind: "own-vote";
      readonly vote: "action" | "durability" | "carry";
      readonly height: number;
      readonly round: number;
      readonly recordHash: RecordHash;
      readonly anchorHash: AnchorHash;
      readonly inProposal: boolean;
      readonly signature: Ed25519Signature;
    }
  /** Refusals proved a record void that this member had voted for: its slot has room for another vote. */
  | { readonly kind: "void-vote"; readonly recordHash: RecordHash }
  /** A record is certified. A remote author's post becomes pending in the same transaction. */
  | { readonly kind: "commit"; readonly record: HistoryRecord }
  | {
      readonly kind: "intent-ended";
      readonly postId: PostId;
      readonly outcome: "certified" | "withdrawn" | "outcome-unknown";
    }
  /** `by` is the first member whose refusal came. */
  | {
      readonly kind: "intent-ended";
      readonly postId: PostId;
      readonly outcome: "refused";
      readonly by: AgentId;
    }
  /** To every member, in the conversation's lane. */
  | { readonly kind: "multicast"; readonly packet: Packet }
  | { readonly kind: "unicast"; readonly to: AgentId; readonly packet: Packet }
  /** Worth a log line: what was not believed, and why. Never content. */
  | { readonly kind: "note"; readonly message: string };
