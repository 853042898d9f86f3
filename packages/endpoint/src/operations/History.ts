// search_conversations and read_conversation: the owner's complete certified history, each returned record verified from
// the store's rows. Reads create no delivery and hold no transaction between pages. Implements MGT-40 to MGT-52.

import * as Address from "@social-harness/protocol/address/Address";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import * as Membership from "@social-harness/protocol/history/Membership";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { ConversationId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import type { RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import * as ConversationRows from "../conversations/ConversationRows.ts";
import type { Database } from "../store/Database.ts";
import * as RecordRows from "../store/RecordRows.ts";
import { headBefore } from "../store/StartUpCheck.ts";
import { verifyRecords } from "../store/VerifyRecords.ts";
import * as Cards from "../transport/Cards.ts";
import type { Continuations } from "./Continuations.ts";
import { withReasons, withReasonsSync } from "./Failing.ts";
import { OperationError } from "./OperationError.ts";
import type {
  ReadConversationInput,
  ReadConversationResult,
  SearchConversationsResult,
} from "./Operations.ts";

/** The rest of a frozen read: records of one conversation after one height through another. */
export interface Snapshot {
  readonly conversationId: ConversationId;
  readonly after: number;
  readonly through: number;
}

export interface HistoryOptions {
  readonly db: Database;
  readonly self: AgentName;
  readonly trust: Trust;
  readonly registry: RegistryClient;
  readonly continuations: Continuations<Snapshot>;
}

export const searchConversations = (
  db: Database,
  afterAddress: string | undefined,
): SearchConversationsResult =>
  withReasonsSync(() => {
    if (afterAddress !== undefined && !Address.isMessageAddress(afterAddress)) {
      throw new OperationError("invalid-address", "afterAddress is not a canonical address");
    }
    const rows = db.all(
      "SELECT address FROM conversation WHERE head_height IS NOT NULL AND address > ? ORDER BY address LIMIT ?",
      afterAddress ?? "",
      Limits.conversationPageAddressesMax + 1,
    );
    const addresses = rows
      .slice(0, Limits.conversationPageAddressesMax)
      .map((row) => row["address"] as Address.MessageAddress);
    return { kind: "page", addresses, hasMore: rows.length > addresses.length };
  });

export const readConversation = (
  options: HistoryOptions,
  input: ReadConversationInput,
): Promise<ReadConversationResult> =>
  withReasons(async () => {
    const snapshot =
      "continuation" in input
        ? options.continuations.redeem(input.continuation)
        : await observe(options, input.address, input.afterRecordHash);
    if (snapshot === null) {
      throw new OperationError("invalid-continuation", "the continuation is unknown, used or expired");
    }
    return readPage(options, snapshot);
  });

/** Observes the certified head once; later appends are not part of the snapshot. */
const observe = async (
  options: HistoryOptions,
  address: string,
  afterRecordHash: RecordHash | undefined,
): Promise<Snapshot> => {
  const { db } = options;
  const row = Address.isMessageAddress(address)
    ? db.get("SELECT conversation_id, head_height FROM conversation WHERE address = ?", address)
    : undefined;
  if (row === undefined || row["head_height"] === null) {
    await explainAbsence(options, address);
    throw new OperationError("history-gap", "the address has no certified GENESIS here");
  }
  const conversationId = row["conversation_id"] as ConversationId;
  const after = afterRecordHash === undefined ? -1 : RecordRows.heightOf(db, conversationId, afterRecordHash);
  if (after === null) {
    throw new OperationError(
      "history-gap",
      "afterRecordHash is not in the certified ancestry of that address",
    );
  }
  return { conversationId, after, through: Number(row["head_height"]) };
};

/** Why an address has no history: it is no address of this agent, or names somebody that does not exist. */
const explainAbsence = async ({ db, self, registry }: HistoryOptions, address: string): Promise<void> => {
  const names = Address.isMessageAddress(address) ? Address.membersOf(address, self) : null;
  if (names === null) {
    throw new OperationError("invalid-address", "not a canonical address of a conversation with this agent");
  }
  for (const name of names) {
    if (name === self || Cards.byName(db, name) !== null) continue;
    try {
      if ((await registry.lookupByName(name)) === null) {
        throw new OperationError("unknown-agent", `no agent is registered as ${name}`);
      }
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
    }
  }
};

const readPage = async (options: HistoryOptions, snapshot: Snapshot): Promise<ReadConversationResult> => {
  const { db, continuations } = options;
  const { conversationId, through } = snapshot;
  const { records, hasMore } = RecordRows.list(db, conversationId, {
    after: snapshot.after,
    through,
    countMax: Limits.historyPageRecordsMax,
    bytesMax: Limits.historyPageBytesMax,
  });
  const last = records.at(-1);
  if (last === undefined) {
    if (snapshot.after < through)
      throw new OperationError("history-gap", "the retained ancestry is not gap-free");
    return { kind: "page", records: [], continuation: null };
  }
  await verifyPage(options, conversationId, records);
  return {
    kind: "page",
    records,
    continuation: hasMore
      ? continuations.mint({ conversationId, after: last.recordCore.action.height, through })
      : null,
  };
};

/** The checks of start-up, on exactly the records that leave. One that fails them keeps the whole page. */
const verifyPage = async (
  { db, trust }: HistoryOptions,
  conversationId: ConversationId,
  records: ReadonlyArray<HistoryRecord>,
): Promise<void> => {
  const [first] = records;
  if (first === undefined) return;
  const conversation = ConversationRows.load(db, trust, conversationId);
  if (conversation === null)
    throw new OperationError("persistence-failed", "the conversation's row is missing");
  const { members } = conversation;
  if (members.membershipHash !== Membership.hashOf(members.membership)) {
    throw new OperationError("persistence-failed", "the stored membership does not have its hash");
  }
  try {
    await verifyRecords(trust, headBefore(db, conversation, first), records, (author, postId) => {
      const row = db.get(
        "SELECT height FROM record WHERE conversation_id = ? AND author_agent_id = ? AND post_id = ?",
        conversationId,
        author,
        postId,
      );
      return row !== undefined && Number(row["height"]) < first.recordCore.action.height;
    });
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw new OperationError("persistence-failed", `a stored record does not verify: ${error.message}`);
  }
};
