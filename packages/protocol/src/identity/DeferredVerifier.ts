// A verifier that believes everything at once and finds out afterwards, many signatures together on the thread pool. Only
// for code that refuses as soon as one signature does not verify: what it did with a false one is then thrown away.
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
  let asked: Array<Parameters<Verifier["verifyText"]>> = [];
  const isKnown = (spelled: string): boolean => {
    if (repeated.has(spelled)) return true;
    if (repeated.size >= repeatedMax) repeated.clear();
    repeated.add(spelled);
    return false;
  };
  return {
    verifier: verifierOf((key, artifact, jcs, signature) => {
      const known = artifact === repeatedArtifact && isKnown([key, signature, jcs].join());
      if (!known) asked.push([key, artifact, jcs, signature]);
      return true;
    }),
    settle: async () => {
      const now = asked;
      asked = [];
      const verdicts = await Promise.all(now.map((one) => Ed25519.verifyInPool(...one)));
      if (verdicts.every(Boolean)) return true;
      repeated.clear();
      return false;
    },
  };
};
