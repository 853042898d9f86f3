// What an owner sees and does of messages that its firewall holds: look, discard, and where its rules allow that, release.
// Implements ING-160 to ING-164.

import type { MessageAddress } from "@social-harness/protocol/address/Address";
import type { Item } from "@social-harness/protocol/delivery/Item";
import type { HoldId } from "../firewall/HoldId.ts";
import type { HoldReason } from "../firewall/Verdict.ts";

/** Whether there is a tool to release beside the other three, which there always are: holds outlive the firewall that made them. */
export type HoldTools = "kept" | "releasable";

/** A held message without its content. */
export interface Hold {
  readonly holdId: HoldId;
  /** UTC. */
  readonly heldAt: string;
  readonly reason: HoldReason;
  /** The rule that decided, counted from 1. */
  readonly rule?: number;
  readonly explanation?: string;
  readonly itemKind: Item["kind"];
  readonly sender: MessageAddress;
  readonly address: MessageAddress;
  /** Of the item. */
  readonly bytes: number;
}

export interface HoldPage {
  readonly holds: ReadonlyArray<Hold>;
  readonly hasMore: boolean;
  /** Items that are being judged or wait for it. */
  readonly queued: number;
}

export const endings = ["discarded", "released"] as const;
export type Ending = (typeof endings)[number];

export interface HoldContent {
  readonly hold: Hold;
  readonly state: "held" | Ending;
  /** UTC; while it is held there is none. */
  readonly endedAt?: string;
  readonly item: Item;
}

/** How a hold ended, now or before. */
export interface HoldEnded {
  readonly kind: Ending;
}

/** Rejections are `not-registered`, `unknown-hold` or `persistence-failed`. */
export interface Holds {
  readonly holdTools: () => HoldTools;
  readonly listHolds: (input: { readonly afterHoldId?: HoldId }) => HoldPage;
  readonly readHold: (holdId: HoldId) => HoldContent;
  readonly discardHold: (holdId: HoldId) => Promise<HoldEnded>;
  readonly releaseHold: (holdId: HoldId) => Promise<HoldEnded>;
}
