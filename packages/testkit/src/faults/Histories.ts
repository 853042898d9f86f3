// Every conversation as its members' endpoints serve it: read page by page, each record verified here under the pinned
// key, and exports that the command line writes and verifies. Believes no endpoint.

import { join } from "node:path";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import type * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import { type Books, conversationOf } from "./Books.ts";
import { Away, type EndpointClient, type ResultOf } from "./Client.ts";
import type { Endpoint } from "./Endpoint.ts";
import type { Faults } from "./Fault.ts";
import * as Process from "./Process.ts";
import { binary } from "./Services.ts";

const addressesOf = async (client: EndpointClient): Promise<ReadonlyArray<string>> => {
  const addresses: Array<string> = [];
  let page: ResultOf<"search_conversations">;
  do {
    const afterAddress = addresses.at(-1);
    page = await client.call("search_conversations", afterAddress === undefined ? {} : { afterAddress });
    addresses.push(...page.addresses);
  } while (page.hasMore);
  return addresses;
};

const attemptsMax = 5;

/**
 * Reads again when the connection broke: verifying keeps this process from its sockets for seconds, and an endpoint closes
 * those that were quiet meanwhile.
 */
const patiently = async <A>(read: () => Promise<A>): Promise<A> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Away) || attempt === attemptsMax) throw error;
    }
  }
};

const recordsOf = async (client: EndpointClient, address: string): Promise<ReadonlyArray<HistoryRecord>> => {
  const records: Array<HistoryRecord> = [];
  let page = await client.call("read_conversation", { address });
  records.push(...page.records);
  while (page.continuation !== null) {
    page = await client.call("read_conversation", { continuation: page.continuation });
    records.push(...page.records);
  }
  return records;
};

/** Verifies records from GENESIS on and returns the names of the members. Throws `RecordError`. */
const verifyAll = (
  trust: VerifyRecord.Trust,
  records: ReadonlyArray<HistoryRecord>,
): ReadonlyArray<string> => {
  const chain = VerifiedChain.begin(trust);
  for (const record of records) chain.take(record);
  const { head } = chain;
  return head === null ? [] : head.members.cards.map(({ agentName }) => agentName);
};

const textOf = (record: HistoryRecord): string =>
  record.recordCore.action.postIntent.content.map((part) => (part.type === "text" ? part.text : "")).join("");

/** Reads and verifies every conversation at one endpoint, byte for byte against the books; the number of records. */
export const verifyAt = async (
  { name, client }: Endpoint,
  registryKey: SigningKey,
  books: Books,
  faults: Faults,
): Promise<number> => {
  const trust = { verifier: Ed25519.verifier, registryKey };
  let count = 0;
  for (const address of await patiently(() => addressesOf(client))) {
    const records = await patiently(() => recordsOf(client, address));
    count += records.length;
    try {
      const conversation = conversationOf(verifyAll(trust, records));
      const texts = new Map(books.postsOf(conversation).map(({ postId, text }) => [postId, text]));
      for (const record of records) {
        if (texts.get(record.recordCore.action.postIntent.postId) !== textOf(record))
          faults.add(`${name} reads another text in ${address} than was sent`);
      }
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      faults.add(`the history of ${address} at ${name} does not verify: ${error.message}`);
    }
  }
  return count;
};

/** Exports a conversation with the command line and has it verified, offline, by another process. */
export const verifyExport = async (
  { name, state }: Endpoint,
  address: string,
  folder: string,
  registryKey: SigningKey,
  faults: Faults,
): Promise<void> => {
  const file = join(folder, `${name}.export.jsonl`);
  for (const args of [
    ["export", address, "--state", state, "--output", file, "--force", "--json"],
    ["verify", file, "--registry-key", registryKey, "--json"],
  ]) {
    const { code, stderr } = await Process.run(binary, args);
    if (code !== 0) return faults.add(`${args[0]} of ${address} at ${name} failed: ${stderr.trim()}`);
  }
};
