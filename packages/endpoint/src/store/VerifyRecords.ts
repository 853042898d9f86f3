// Verifies many records with the one verification function while the signatures themselves are checked on the thread pool:
// the function runs once with a verifier that only writes down what must be verified, then all of it is.

import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import { type Ancestry, type ChainHead, type Trust, verifyNext } from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { Ed25519Signature, SigningKey } from "@social-harness/protocol/identity/Identifier";

interface Deferred {
  readonly key: SigningKey;
  readonly artifact: string;
  readonly value: Json;
  readonly signature: Ed25519Signature;
}

/** Verifies records in chain order after `head` and returns the new head. Rejects with `RecordError`. */
export const verifyRecords = async (
  { registryKey }: Trust,
  head: ChainHead | null,
  records: ReadonlyArray<HistoryRecord>,
  ancestry: Ancestry,
): Promise<ChainHead> => {
  const deferred: Array<Deferred> = [];
  const noting: Trust = {
    registryKey,
    verifier: {
      verify: (key, artifact, value, signature) => {
        deferred.push({ key, artifact, value, signature });
        return true;
      },
    },
  };
  let last = head;
  for (const record of records) last = verifyNext(noting, last, record, ancestry);
  if (last === null) throw new RangeError("no records to verify");
  const verdicts = await Promise.all(
    deferred.map(({ key, artifact, value, signature }) =>
      Ed25519.verifyInPool(key, artifact, value, signature),
    ),
  );
  if (!verdicts.every(Boolean)) throw new RecordError("signature", "a signature does not verify");
  return last;
};
