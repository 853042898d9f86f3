// search_conversations and read_conversation: the owner's complete certified history, each returned record verified from
// the store's rows. Reads create no delivery and hold no transaction between pages. Implements MGT-32 to MGT-51 and MGT-110 to MGT-113.

import { setImmediate } from "node:timers/promises";
import * as Address from "@social-harness/protocol/address/Address";
import type { Head } from "@social-harness/protocol/conversation/State";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { AnchorHash, ConversationId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import type { CallOptions, RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import * as ConversationRows from "../conversations/ConversationRows.ts";
import type { Database } from "../store/Database.ts";
import * as AnchorRows from "../store/AnchorRows.ts";
import * as RecordRows from "../store/RecordRows.ts";
import { headBefore } from "../store/StartUpCheck.ts";
import * as StoredAncestry from "../store/StoredAncestry.ts";
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

/** The rest of a frozen read: records of one conversation after one height through the head that it observed. */
export interface Snapshot {
  readonly conversationId: ConversationId;
  readonly after: number;
  readonly through: Head;
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
  gone: AbortSignal = new AbortController().signal,
): Promise<ReadConversationResult> =>
  withReasons(async () => {
    if (!("continuation" in input)) {
      return readPage(options, await observe(options, input.address, input.afterRecordHash), null, gone);
    }
    // Taken out before anything is awaited: of many calls with the same continuation one goes on.
    const snapshot = options.continuations.redeem(input.continuation);
    if (snapshot === null) {
      throw new OperationError("invalid-continuation", "the continuation is unknown, used or expired");
    }
    return readPage(options, snapshot, input.continuation, gone);
  });

const damaged = (what: string, cause?: unknown): OperationError =>
  new OperationError("persistence-failed", `the store is not what was written: ${what}`, { cause });

/** Observes the certified head once; later appends are not part of the snapshot. */
const observe = async (
  options: HistoryOptions,
  address: string,
  afterRecordHash: RecordHash | undefined,
): Promise<Snapshot> => {
  const { db } = options;
  const row = Address.isMessageAddress(address)
    ? db.get("SELECT * FROM conversation WHERE address = ?", address)
    : undefined;
  const head = row === undefined ? null : ConversationRows.stateOf(row).head;
  if (row === undefined || head === null) {
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
  return { conversationId, after, through: head };
};

/** Why an address has no history: it is no address of this agent, or names somebody that does not exist. All are asked for at once. */
const explainAbsence = async (options: HistoryOptions, address: string): Promise<void> => {
  const { db, self, registry } = options;
  const names = Address.isMessageAddress(address) ? Address.membersOf(address, self) : null;
  if (names === null) {
    throw new OperationError("invalid-address", "not a canonical address of a conversation with this agent");
  }
  const known = names.flatMap((name) => Cards.byName(db, name) ?? []);
  if (known.length === names.length) return refuseStrayHistory(db, Membership.ofCards(known).conversationId);
  const unknown = names.filter((name) => !known.some(({ agentName }) => agentName === name));
  const call = { deadline: AbortSignal.timeout(Limits.registryDeadlineMs) };
  await Promise.all(unknown.map((name) => refuseUnknown(registry, name, call)));
};

/** Who cannot be asked for is not held to be unknown. */
const refuseUnknown = async (registry: RegistryClient, name: AgentName, call: CallOptions): Promise<void> => {
  try {
    if ((await registry.lookupByName(name, call)) === null) {
      throw new OperationError("unknown-agent", `no agent is registered as ${name}`);
    }
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
  }
};

/** Records of members whose conversation is not found under their address: the row was changed or taken away. */
const refuseStrayHistory = (db: Database, conversationId: ConversationId): void => {
  if (db.get("SELECT 1 FROM record WHERE conversation_id = ? LIMIT 1", conversationId) !== undefined) {
    throw damaged("the conversation of these records is not under its address");
  }
};

const readPage = async (
  options: HistoryOptions,
  snapshot: Snapshot,
  spent: string | null,
  gone: AbortSignal,
): Promise<ReadConversationResult> => {
  const { db, continuations } = options;
  const { conversationId, through, after } = snapshot;
  const { records, hasMore } = RecordRows.list(db, conversationId, {
    after,
    through: through.height,
    countMax: Limits.historyPageRecordsMax,
    bytesMax: Limits.historyPageBytesMax,
  });
  refuseGaps(db, snapshot, records, hasMore);
  const last = records.at(-1);
  if (last === undefined) return { kind: "page", records: [], continuation: null };
  await verifyPage(options, conversationId, records, gone);
  return {
    kind: "page",
    records,
    continuation: hasMore
      ? continuations.mint({ conversationId, after: last.recordCore.action.height, through }, spent)
      : null,
  };
};

/** Nothing is ever taken out of a chain, so a place without a record is damage: missing, or filed under another place. */
const refuseGaps = (
  db: Database,
  { after, through }: Snapshot,
  records: ReadonlyArray<HistoryRecord>,
  hasMore: boolean,
): void => {
  const next = records.find(({ recordCore }, i) => recordCore.action.height !== after + 1 + i);
  const isShort = next === undefined && !hasMore && after + records.length !== through.height;
  if (next === undefined && !isShort) return;
  const missing = next === undefined ? through.recordHash : next.recordCore.action.previousRecordHash;
  if (db.get("SELECT 1 FROM record WHERE record_hash = ?", missing) !== undefined) {
    throw damaged("a record stands under another place than its own");
  }
  throw new OperationError("history-gap", "the retained ancestry is not gap-free");
};

/**
 * The checks of start-up, on exactly the records that leave. One that fails them keeps the whole page. Others get on between
 * two records, each of which may have a quarter of a megabyte, and it is seen there when nobody waits for the page any more.
 */
const verifyPage = async (
  { db, trust }: HistoryOptions,
  conversationId: ConversationId,
  records: ReadonlyArray<HistoryRecord>,
  gone: AbortSignal,
): Promise<void> => {
  const [first] = records;
  if (first === undefined) return;
  const conversation = ConversationRows.load(db, trust, conversationId);
  if (conversation === null) throw damaged("the conversation's row is missing");
  const { height } = first.recordCore.action;
  if (!RecordRows.areInOrder(db, conversationId, height, height + records.length))
    throw damaged("a record was not committed in its own order");
  for (const anchorHash of new Set(records.flatMap(anchorHashesOf))) {
    if (AnchorRows.find(db, conversationId, anchorHash) === null)
      throw damaged("a record stands under an anchor that is not there");
  }
  const between = async (): Promise<void> => {
    await setImmediate();
    gone.throwIfAborted();
  };
  try {
    const ancestry = StoredAncestry.below(db, conversationId, height);
    await verifyRecords(trust, headBefore(db, conversation, first), records, ancestry, between);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw damaged(`a record does not verify: ${error.message}`, error);
  }
};

const anchorHashesOf = ({ recordCore, durabilityAnchor }: HistoryRecord): ReadonlyArray<AnchorHash> =>
  durabilityAnchor === null
    ? [recordCore.anchorHash]
    : [recordCore.anchorHash, Reanchor.hashOf(durabilityAnchor)];
