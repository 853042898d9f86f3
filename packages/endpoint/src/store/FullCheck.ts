// Every check that a store has, on all of it and from outside: the start-up check without its checkpoint, beside a daemon
// that goes on writing, whose write-ahead log is not kept from being folded meanwhile. Writes nothing itself. Implements
// HIS-117 and RUN-334.

import type { MessageAddress } from "@social-harness/protocol/address/Address";
import type { RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import * as Database from "./Database.ts";
import { check, type WalkedConversation } from "./StartUpCheck.ts";

/** A conversation with certified history, as the owner of the store names it. */
export interface CheckedConversation {
  readonly address: MessageAddress;
  readonly records: number;
  readonly headRecordHash: RecordHash;
}

const addressOf = (db: Database.Database, { conversationId }: WalkedConversation): MessageAddress =>
  db.get("SELECT address FROM conversation WHERE conversation_id = ?", conversationId)?.[
    "address"
  ] as MessageAddress;

/**
 * Conversations in the order of their addresses, each up to the record at which its own check ended. Rejects with `StoreError`.
 */
export const checkEverything = async (
  path: string,
  trust: Trust,
): Promise<ReadonlyArray<CheckedConversation>> => {
  const db = Database.openSnapshot(path);
  try {
    const checked: Array<CheckedConversation> = [];
    await check(db, trust, {
      scope: "everything",
      release: db.release,
      onWalked: (walked) =>
        checked.push({
          address: addressOf(db, walked),
          records: walked.head.height + 1,
          headRecordHash: walked.head.recordHash,
        }),
    });
    return checked.toSorted((one, other) => (one.address < other.address ? -1 : 1));
  } finally {
    db.close();
  }
};
