// The two private keys of an endpoint, in `identity.json`: made once, never overwritten, never logged, never sent.
// What leaves this file can sign and agree; it cannot be read. Implements RUN-20 and RUN-29.

import * as Schema from "effect/Schema";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { Opaque32, type SealingKey, type SigningKey } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import * as SealingKeys from "@social-harness/router/seal/SealingKeys";
import * as FileVersion from "./FileVersion.ts";
import * as PrivateFile from "./PrivateFile.ts";
import { StateError } from "./StateError.ts";
import type { StateFolder } from "./StateFolder.ts";

export interface Identity {
  readonly signer: Signer;
  readonly sealing: SealingKeys.SealingSecret;
  /** The public halves, as a card carries them. */
  readonly signingKey: SigningKey;
  readonly sealingKey: SealingKey;
}

const schema = Schema.Struct({
  kind: Schema.Literal("identity"),
  version: Schema.Literal(1),
  signingSeed: Opaque32.schema,
  sealingSeed: Opaque32.schema,
});
const bytesMax = 512;
/** A later version may hold more. */
const readBytesMax = 4_096;
const decode = Closed.bytesDecoder(schema, { bytesMax, depthMax: 1 });

const ofSeeds = (signingSeed: Uint8Array, sealingSeed: Uint8Array): Identity => {
  const signer = Ed25519.signerFromSeed(signingSeed);
  const sealing = SealingKeys.fromSeed(sealingSeed);
  return { signer, sealing, signingKey: signer.publicKey, sealingKey: sealing.publicKey };
};

/** Makes both keys and keeps them before anybody learns them. Throws `exists` rather than lose a key. */
export const create = (folder: StateFolder, random: SealingKeys.Random): Identity => {
  const signingSeed = random(32);
  const sealingSeed = SealingKeys.generateSeed(random);
  const file: typeof schema.Type = {
    kind: "identity",
    version: 1,
    signingSeed: Opaque32.fromBytes(signingSeed),
    sealingSeed: Opaque32.fromBytes(sealingSeed),
  };
  if (!PrivateFile.createOnce(folder.identity, CanonicalJson.encode(file))) {
    throw new StateError(
      "exists",
      `${folder.identity} exists, and its keys are kept as they are`,
      "give another --state for another agent",
    );
  }
  return ofSeeds(signingSeed, sealingSeed);
};

/** Of a file that is whole and says that it has a later version, or is damaged. */
const unusable = ({ identity }: StateFolder, text: string): StateError => {
  const version = FileVersion.of(text, "identity");
  return version !== null && version > 1
    ? new StateError(
        "other-version",
        `${identity} has version ${version} and this program knows 1`,
        "start the newer program, the file is untouched",
      )
    : new StateError("malformed", `${identity} is damaged`, "restore it from a backup");
};

/**
 * The keys of the folder, or null when it has none yet. Throws `malformed` for a damaged file, `other-version` for one of a
 * later program, and changes nothing.
 */
export const load = (folder: StateFolder): Identity | null => {
  const text = PrivateFile.read(folder.identity, readBytesMax);
  if (text === null) return null;
  try {
    const { signingSeed, sealingSeed } = decode(Buffer.from(text, "utf8"));
    return ofSeeds(Opaque32.toBytes(signingSeed), Opaque32.toBytes(sealingSeed));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw unusable(folder, text);
  }
};
