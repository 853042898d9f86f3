// From commit to inbox inside one turn: classifies what became pending and tells the host of own posts that ended without
// their effect. A row that cannot be classified stays pending and costs nobody else anything. Implements ING-01, ING-10 and OPS-10.

import type { AgentId, ConversationId, PostId } from "@social-harness/protocol/identity/Identifier";
import type { MessageAddress } from "@social-harness/protocol/address/Address";
import type { Logger } from "@social-harness/router/Logger";
import { type Admit, admitAtOnce, classifyPending, type Names } from "../ingress/Classify.ts";
import type * as Inbox from "../ingress/Inbox.ts";
import * as OperationFailed from "../ingress/OperationFailed.ts";
import { isStoreFailure } from "../store/Database.ts";
import type { Turn } from "./Conversations.ts";

export interface Admitted {
  /** The number of unacknowledged items rose. */
  readonly raised: boolean;
  /** Pending rows are left for another turn. */
  readonly hasMore: boolean;
}

export interface AdmissionOptions {
  readonly self: AgentId;
  readonly random: Inbox.Random;
  readonly logger: Logger;
  /** Where items go; into the inbox unless told otherwise. */
  readonly admit?: Admit;
  /** The members of a conversation, where they are at hand. */
  readonly namesOf?: (turn: Turn, conversationId: ConversationId) => Names;
  /** Rows of earlier turns may be waiting. */
  readonly more: boolean;
}

/** Rows of one turn: a long absence must not make one endless transaction. */
const rowsMax = 256;

export const admitCommitted = (turn: Turn, options: AdmissionOptions): Admitted => {
  let told = false;
  for (const { postId, outcome } of turn.state.ended) {
    if (outcome !== "certified") told = admitFailure(turn, postId, outcome, options) || told;
  }
  if (turn.state.commits === 0 && !options.more) return { raised: told, hasMore: false };
  const classified = classify(turn, options);
  return { raised: classified.raised || told, hasMore: classified.hasMore };
};

const classify = (
  turn: Turn,
  { self, random, logger, admit = admitAtOnce, namesOf }: AdmissionOptions,
): Admitted => {
  const atHand = namesOf === undefined ? {} : { namesOf: (id: ConversationId) => namesOf(turn, id) };
  try {
    const outcome = turn.db.transaction(() =>
      classifyPending(turn.db, { self, now: turn.now, random, admit, rowsMax, ...atHand }),
    );
    for (const { recordHash, reason } of outcome.consumed) {
      logger("warn", "a certified post was consumed", { recordHash, reason });
    }
    for (const { recordHash } of outcome.unreadable) {
      logger("error", "a certified post cannot be read and stays pending", { recordHash });
    }
    return { raised: outcome.admitted > 0, hasMore: outcome.hasMore };
  } catch (error) {
    if (isStoreFailure(error)) throw error;
    logger("error", "classification met a defect; the posts stay pending", { error: String(error) });
    return { raised: false, hasMore: false };
  }
};

/** Returns whether the host can read of it now. */
const admitFailure = (
  turn: Turn,
  postId: PostId,
  reason: OperationFailed.Reason,
  { random, admit = admitAtOnce }: AdmissionOptions,
): boolean => {
  const row = turn.db.get(
    "SELECT conversation_id, address FROM intent JOIN conversation USING (conversation_id) WHERE post_id = ?",
    postId,
  );
  const to = row?.["address"] as MessageAddress;
  const admission = { item: OperationFailed.itemOf({ postId, to, reason }), now: turn.now, random };
  return admit(turn.db, admission, row?.["conversation_id"] as ConversationId);
};
