// Verifies many records with the one verification function while the signatures themselves are checked on the thread pool.
// Where anything is amiss the function runs a second time, signature by signature, to say what. Implements HIS-118.

import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import type { Ancestry, ChainHead, Trust } from "@social-harness/protocol/history/VerifyRecord";
import * as DeferredVerifier from "@social-harness/protocol/identity/DeferredVerifier";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";

const taken = (
  chain: VerifiedChain.VerifiedChain,
  records: ReadonlyArray<HistoryRecord>,
): ChainHead | null => {
  for (const record of records) chain.take(record);
  return chain.head;
};

/** The new head, or null when a law is broken or a signature does not verify. */
const inPool = async (
  registryKey: Trust["registryKey"],
  head: ChainHead | null,
  records: ReadonlyArray<HistoryRecord>,
  ancestry: Ancestry,
  between: (() => Promise<void>) | undefined,
): Promise<ChainHead | null> => {
  const { verifier, settle } = DeferredVerifier.create();
  const chain = VerifiedChain.begin({ registryKey, verifier }, head, ancestry);
  for (const record of records) {
    if (between !== undefined) await between();
    try {
      chain.take(record);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      return null;
    }
  }
  return (await settle()) ? chain.head : null;
};

/**
 * Verifies records in chain order after `head` and returns the new head. `ancestry` knows the records up to `head`. `between`
 * is waited for before each of them, while the pool goes on with the signatures of those before; what it throws ends the work.
 * Rejects with the `RecordError` of the first record that does not verify.
 */
export const verifyRecords = async (
  { registryKey }: Trust,
  head: ChainHead | null,
  records: ReadonlyArray<HistoryRecord>,
  ancestry: Ancestry,
  between?: () => Promise<void>,
): Promise<ChainHead> => {
  if (records.length === 0) throw new RangeError("no records to verify");
  const last = await inPool(registryKey, head, records, ancestry, between);
  if (last !== null) return last;
  taken(VerifiedChain.begin({ registryKey, verifier: Ed25519.verifier }, head, ancestry), records);
  throw new Error("the thread pool refuses a signature that verifies by itself");
};
