// Reading a whole conversation through the daemon's pages.

import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import type { DaemonClient } from "./DaemonClient.ts";

/** All records of one snapshot, from GENESIS or strictly after a record. */
export const readConversation = async (
  client: DaemonClient,
  address: string,
  afterRecordHash?: string,
): Promise<ReadonlyArray<HistoryRecord>> => {
  const records: Array<HistoryRecord> = [];
  let input: Readonly<Record<string, string>> =
    afterRecordHash === undefined ? { address } : { address, afterRecordHash };
  for (;;) {
    const page = await client.call("read_conversation", input);
    records.push(...page.records);
    if (page.continuation === null) return records;
    input = { continuation: page.continuation };
  }
};

/** The addresses of every certified conversation, in byte order. */
export const searchConversations = async (client: DaemonClient): Promise<ReadonlyArray<string>> => {
  const addresses: Array<string> = [];
  for (;;) {
    const last = addresses.at(-1);
    const page = await client.call("search_conversations", last === undefined ? {} : { afterAddress: last });
    addresses.push(...page.addresses);
    if (!page.hasMore) return addresses;
  }
};
