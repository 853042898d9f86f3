// What is decided about an item, by whom, and what is asked to find out. Implements ING-134 and ING-150.

import type { Item } from "@social-harness/protocol/delivery/Item";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import type { RecordHash } from "@social-harness/protocol/identity/Identifier";

export const holdReasons = ["rule", "checker", "check-failed", "rules-unreadable"] as const;
export type HoldReason = (typeof holdReasons)[number];

export interface Allow {
  readonly verdict: "allow";
  /** The owner's words to its own model. */
  readonly guidance?: string;
}

export interface Hold {
  readonly verdict: "hold";
  readonly reason: HoldReason;
  /** The rule that decided, counted from 1. */
  readonly rule?: number;
  /** The owner's words in that rule, the checker's, how the checker failed, or that the rule could not be applied. */
  readonly explanation?: string;
}

export type Verdict = Allow | Hold;

/** An item of another agent, with what rules and checkers go by. */
export interface Subject {
  readonly item: Exclude<Item, { readonly kind: "operationFailed" }>;
  readonly recordHash: RecordHash;
  readonly sender: AgentCard;
  /** Whether the owner's contacts name the sender, or this agent has written to it before. */
  readonly isKnown: boolean;
  /** Its place among all records that came here: it grows, whatever the clock says. */
  readonly order: number;
  /** When it was classified, epoch milliseconds. */
  readonly receivedAt: number;
}
