// Verifies many records with the one verification function while the signatures themselves are checked on the thread pool:
// the function runs once with a verifier that only writes down what must be verified, then all of it is. Where anything is
// amiss it runs a second time, signature by signature, to say what. Implements HIS-118.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import type { Ancestry, ChainHead, Trust } from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { Verifier } from "@social-harness/protocol/identity/Signing";

type Deferred = Parameters<Verifier["verify"]>;

/** The statements of a round come along with every record under it: each is verified once. */
const repeatedArtifact = "reanchor-statement";

/** A verifier that believes everything, and what it was asked. */
const noting = () => {
  const deferred: Array<Deferred> = [];
  const repeated = new Set<string>();
  const verifier: Verifier = {
    verify: (...asked) => {
      const [key, artifact, value, signature] = asked;
      if (artifact === repeatedArtifact) {
        const spelled = CanonicalJson.encode([key, value, signature]);
        if (repeated.has(spelled)) return true;
        repeated.add(spelled);
      }
      deferred.push(asked);
      return true;
    },
  };
  return { verifier, deferred };
};

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
): Promise<ChainHead | null> => {
  const { verifier, deferred } = noting();
  let last: ChainHead | null;
  try {
    last = taken(VerifiedChain.begin({ registryKey, verifier }, head, ancestry), records);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return null;
  }
  const verdicts = await Promise.all(deferred.map((asked) => Ed25519.verifyInPool(...asked)));
  return verdicts.every(Boolean) ? last : null;
};

/**
 * Verifies records in chain order after `head` and returns the new head. `ancestry` knows the records up to `head`. Rejects
 * with the `RecordError` of the first record that does not verify.
 */
export const verifyRecords = async (
  { registryKey }: Trust,
  head: ChainHead | null,
  records: ReadonlyArray<HistoryRecord>,
  ancestry: Ancestry,
): Promise<ChainHead> => {
  if (records.length === 0) throw new RangeError("no records to verify");
  const last = await inPool(registryKey, head, records, ancestry);
  if (last !== null) return last;
  taken(VerifiedChain.begin({ registryKey, verifier: Ed25519.verifier }, head, ancestry), records);
  throw new Error("the thread pool refuses a signature that verifies by itself");
};
