// The two capabilities that the protocol takes as inputs. Real keys stand behind them in the endpoint,
// a keyed hash in the simulator. Neither ever shows key bytes.

import * as CanonicalJson from "../encoding/CanonicalJson.ts";
import type { Ed25519Signature, SigningKey } from "./Identifier.ts";

export interface Signer {
  readonly publicKey: SigningKey;
  /** Signs tag(artifact) || JCS(value). */
  readonly sign: (artifact: string, value: CanonicalJson.Json) => Ed25519Signature;
  /** The same where the JCS text of the value is already at hand. */
  readonly signText: (artifact: string, jcs: string) => Ed25519Signature;
}

export const signerOf = (publicKey: SigningKey, signText: Signer["signText"]): Signer => ({
  publicKey,
  sign: (artifact, value) => signText(artifact, CanonicalJson.encode(value)),
  signText,
});

export interface Verifier {
  readonly verify: (
    publicKey: SigningKey,
    artifact: string,
    value: CanonicalJson.Json,
    signature: Ed25519Signature,
  ) => boolean;
  /** The same where the JCS text of the value is already at hand. */
  readonly verifyText: (
    publicKey: SigningKey,
    artifact: string,
    jcs: string,
    signature: Ed25519Signature,
  ) => boolean;
}

export const verifierOf = (verifyText: Verifier["verifyText"]): Verifier => ({
  verify: (publicKey, artifact, value, signature) =>
    verifyText(publicKey, artifact, CanonicalJson.encode(value), signature),
  verifyText,
});
