// Every check that a store has, on all of it at once and from outside: the start-up check without its checkpoint, on a
// snapshot that nobody's writes disturb and that writes nothing itself. Implements HIS-117.

import type { MessageAddress } from "@social-harness/protocol/address/Address";
import type { RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import { stateOf } from "../conversations/ConversationRows.ts";
import * as Database from "./Database.ts";
import { check } from "./StartUpCheck.ts";

/** A conversation with certified history, as the owner of the store names it. */
export interface CheckedConversation {
  readonly address: MessageAddress;
  readonly records: number;
  readonly headRecordHash: RecordHash;
}

/** Conversations in the order of their addresses. Rejects with `StoreError`. */
export const checkEverything = async (
  path: string,
  trust: Trust,
): Promise<ReadonlyArray<CheckedConversation>> => {
  const db = Database.openSnapshot(path);
  try {
    await check(db, trust, "everything");
    return db.all("SELECT * FROM conversation ORDER BY address").flatMap((row) => {
      const { head } = stateOf(row);
      if (head === null) return [];
      const address = row["address"] as MessageAddress;
      return [{ address, records: head.height + 1, headRecordHash: head.recordHash }];
    });
  } finally {
    db.close();
  }
};
