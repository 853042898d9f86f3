// A verifier that is told ahead what it will be asked: the thread pool finds the verdicts while its caller does other work,
// and the questions meet them there. What was not begun, or was begun about other bytes, is verified on the spot, so the
// verdict is that of Ed25519 in every case. Implements HIS-119.

import type { Ed25519Signature, SigningKey } from "./Identifier.ts";
import * as Ed25519 from "./Ed25519.ts";
import { type Verifier, verifierOf } from "./Signing.ts";

export interface VerifierAhead {
  readonly verifier: Verifier;
  /**
   * Begins whatever `ask` asks the verifier that it is given, which says yes to everything. Resolves when all those verdicts
   * are there for `verifier`, which is asked the same later and believes no yes of before.
   */
  readonly begin: (ask: (verifier: Verifier) => void) => Promise<void>;
}

interface Begun {
  readonly publicKey: SigningKey;
  readonly artifact: string;
  readonly jcs: string;
  /** Null until the pool has answered. */
  verdict: boolean | null;
}

/** Verdicts that wait for their question, the oldest dropped first. */
const begunMax = 1_024;

export const create = (): VerifierAhead => {
  const begun = new Map<Ed25519Signature, Begun>();

  const beginOne = async (...question: Parameters<Verifier["verifyText"]>): Promise<void> => {
    const [publicKey, artifact, jcs, signature] = question;
    if (begun.has(signature)) return;
    if (begun.size >= begunMax) begun.delete(begun.keys().next().value as Ed25519Signature);
    const entry: Begun = { publicKey, artifact, jcs, verdict: null };
    begun.set(signature, entry);
    entry.verdict = await Ed25519.verifyInPool(...question);
  };

  return {
    begin: async (ask) => {
      const asked: Array<Promise<void>> = [];
      ask(
        verifierOf((...question) => {
          asked.push(beginOne(...question));
          return true;
        }),
      );
      await Promise.all(asked);
    },
    verifier: verifierOf((publicKey, artifact, jcs, signature) => {
      const known = begun.get(signature);
      begun.delete(signature);
      const isAnswered = known?.publicKey === publicKey && known.artifact === artifact && known.jcs === jcs;
      const verdict = isAnswered ? known.verdict : null;
      return verdict ?? Ed25519.verifier.verifyText(publicKey, artifact, jcs, signature);
    }),
  };
};
