// A verifier that believes everything at once while the thread pool finds out, beside whoever goes on asking. Only for code
// that refuses as soon as one signature does not verify: what it did with a false one is then thrown away.
// Implements HIS-118.

import * as Ed25519 from "./Ed25519.ts";
import { type Verifier, verifierOf } from "./Signing.ts";

export interface DeferredVerifier {
  readonly verifier: Verifier;
  /** Whether all that was asked since the last time verifies. */
  readonly settle: () => Promise<boolean>;
}

/** The statements of a round come along with every record under it: each is verified once. */
const repeatedArtifact = "reanchor-statement";
/** More than the members of a conversation ever state in one round: what is dropped is verified again. */
const repeatedMax = 1_024;

export const create = (): DeferredVerifier => {
  const repeated = new Set<string>();
  let asked: Array<Promise<boolean>> = [];
  const isKnown = (spelled: string): boolean => {
    if (repeated.has(spelled)) return true;
    if (repeated.size >= repeatedMax) repeated.clear();
    repeated.add(spelled);
    return false;
  };
  return {
    verifier: verifierOf((key, artifact, jcs, signature) => {
      const known = artifact === repeatedArtifact && isKnown([key, signature, jcs].join());
      // A pool that fails has verified nothing; whoever asks again without it learns what is amiss.
      if (!known) asked.push(Ed25519.verifyInPool(key, artifact, jcs, signature).catch(() => false));
      return true;
    }),
    settle: async () => {
      const now = asked;
      asked = [];
      const verdicts = await Promise.all(now);
      if (verdicts.every(Boolean)) return true;
      repeated.clear();
      return false;
    },
  };
};
