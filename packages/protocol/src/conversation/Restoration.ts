// What a member that lost its memory keeps until it has recovered: when that was found, and where the others say they are.

import type { AgentId, RecordHash } from "../identity/Identifier.ts";

/** This member's memory was found to be older than what it signed. Until it recovers it signs nothing at or below a floor. */
export interface Restored {
  /** Own intents persisted until then may have been proposed. */
  readonly at: number;
  /** The highest round that the old disk itself knew. */
  readonly round: number;
  /**
   * The hash of no record, which questions ask about and whole answers repeat: an answer to a question of before the memory
   * was lost, which the Router may still hold, says nothing about where its sender is now.
   */
  readonly question: RecordHash;
  /** The rounds that others say they are at, and those that they stated in the answers that are still coming. */
  readonly reports: { readonly [member: AgentId]: number };
  readonly stated: { readonly [member: AgentId]: number };
  /** When those who have not answered are asked again; null while not connected. */
  readonly askAt: number | null;
  readonly intervalMs: number;
}
