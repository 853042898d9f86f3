// The two capabilities that the protocol takes as inputs. Real keys stand behind them in the endpoint,
// a keyed hash in the simulator. Neither ever shows key bytes.

import type { Json } from "../encoding/CanonicalJson.ts";
import type { Ed25519Signature, SigningKey } from "./Identifier.ts";

export interface Signer {
  readonly publicKey: SigningKey;
  /** Signs tag(artifact) || JCS(value). */
  readonly sign: (artifact: string, value: Json) => Ed25519Signature;
}

export interface Verifier {
  readonly verify: (
    publicKey: SigningKey,
    artifact: string,
    value: Json,
    signature: Ed25519Signature,
  ) => boolean;
}
