// What a new process does about the requests that an earlier one has shown. What an answer takes lives in memory, so an unread
// request would be read by a host that can no longer answer it: it leaves the inbox, and an item of its own tells of the loss.
// Knows no operation; who can still be answered is told to it. Implements ING-180 to ING-189.

import type { MessageAddress } from "@social-harness/protocol/address/Address";
import type {
  CollectiveId,
  ConversationId,
  DeliveryToken,
  PostId,
} from "@social-harness/protocol/identity/Identifier";
import type { Database } from "../store/Database.ts";
import type { Admit } from "./Classify.ts";
import * as Inbox from "./Inbox.ts";
import * as Limits from "./Limits.ts";
import * as OperationFailed from "./OperationFailed.ts";

export interface RecoveryOptions {
  readonly db: Database;
  /** Requests for which this process has what an answer takes. */
  readonly answerable: ReadonlySet<CollectiveId>;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly random: Inbox.Random;
  /** Where the items about what was lost go. */
  readonly admit: Admit;
  /** In the transaction in which these items leave the inbox. */
  readonly onRetired: (db: Database, tokens: ReadonlyArray<DeliveryToken>, now: number) => void;
}

interface Request {
  readonly sequence: number;
  readonly token: DeliveryToken;
  readonly requestId: CollectiveId;
  readonly conversationId: ConversationId;
  readonly postId: PostId;
  /** The conversation as this endpoint names it. */
  readonly address: MessageAddress;
}

/** The next unread requests. Their items are not read: one that is damaged must not keep its request from being retired. */
const unread = (db: Database, after: number): ReadonlyArray<Request> =>
  db
    .all(
      `SELECT inbox.sequence, delivery_token, request_id, record.conversation_id, post_id, address
       FROM inbox INDEXED BY inbox_request
         JOIN record ON record.record_hash = inbox.record_hash
         JOIN conversation ON conversation.conversation_id = record.conversation_id
       WHERE request_id IS NOT NULL AND acknowledged_at IS NULL AND inbox.sequence > ?
       ORDER BY inbox.sequence LIMIT ?`,
      after,
      Limits.recoveryRequestsMax,
    )
    .map((row) => ({
      sequence: Number(row["sequence"]),
      token: row["delivery_token"] as DeliveryToken,
      requestId: row["request_id"] as CollectiveId,
      conversationId: row["conversation_id"] as ConversationId,
      postId: row["post_id"] as PostId,
      address: row["address"] as MessageAddress,
    }));

/** In the caller's transaction. The raw row of a request has gone with its admission (ING-23): no pass brings it back. */
const retire = (requests: ReadonlyArray<Request>, options: RecoveryOptions): void => {
  const { db, now, random, admit } = options;
  for (const { token } of requests) Inbox.acknowledge(db, token, now);
  options.onRetired(
    db,
    requests.map(({ token }) => token),
    now,
  );
  for (const { requestId, postId, address, conversationId } of requests) {
    const item = OperationFailed.itemOf({ id: requestId, postId, to: address, reason: "context-lost" });
    admit(db, { item, now, random }, conversationId);
  }
};

/**
 * Retires every unread request that cannot be answered, and returns how many. Call it before this process classifies or
 * delivers anything: what it shows itself, it remembers. May be ended anywhere and called again.
 */
export const recover = (options: RecoveryOptions): number => {
  const { db, answerable } = options;
  let retired = 0;
  for (let after = 0; ;) {
    const requests = unread(db, after);
    const lost = requests.filter(({ requestId }) => !answerable.has(requestId));
    if (lost.length > 0) db.transaction(() => retire(lost, options));
    retired += lost.length;
    const last = requests.at(-1);
    if (last === undefined || requests.length < Limits.recoveryRequestsMax) return retired;
    after = last.sequence;
  }
};
