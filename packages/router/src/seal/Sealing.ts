// Seals a body to a recipient set and opens one's own entry: ECDH-ES+A256KW per member, A256GCM once, on node:crypto.
// A sender keeps one content key per recipient set and wraps it once, so the hot path is one AES-GCM pass. Every
// envelope still opens alone with any JOSE library. Knows nothing of what a body means. Implements RTR-12 to RTR-15.

import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject } from "node:crypto";
import type { AgentId, SealingKey } from "@social-harness/protocol/identity/Identifier";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import * as Limits from "../Limits.ts";
import * as Sealed from "./Sealed.ts";
import * as SealingKeys from "./SealingKeys.ts";

/** Epoch milliseconds, passed in. */
export type Clock = () => number;

export interface Recipient {
  readonly agentId: AgentId;
  readonly sealingKey: SealingKey;
}

/** A recipient's card holds a key that nothing can be sealed to. */
export class SealingError extends Error {
  override readonly name = "SealingError";
  readonly reason = "unusable-sealing-key";
  readonly agentId: AgentId;
  constructor(agentId: AgentId) {
    super(`the sealing key of ${agentId} is of small order`);
    this.agentId = agentId;
  }
}

export interface Sealer {
  /** One sealed body that each recipient can open. Throws `SealingError`. */
  readonly seal: (recipients: ReadonlyArray<Recipient>, plaintext: Uint8Array) => Sealed.Sealed;
}

export interface Opener {
  /** The plaintext, or null when this agent is not a recipient or its entry or the body does not open. */
  readonly open: (sealed: Sealed.Sealed) => Buffer | null;
}

/** The key-encryption key of one recipient: the Concat KDF of RFC 7518, 4.6.2, for one 256-bit block. */
const wrappingKeyOf = (sharedSecret: Uint8Array): Buffer => {
  const algorithm = Buffer.from("ECDH-ES+A256KW", "ascii");
  const fields = Buffer.alloc(4 + algorithm.byteLength + 12);
  fields.writeUInt32BE(algorithm.byteLength, 0);
  algorithm.copy(fields, 4);
  fields.writeUInt32BE(256, 4 + algorithm.byteLength + 8);
  return hash("sha256", Buffer.concat([Buffer.from([0, 0, 0, 1]), sharedSecret, fields]), "buffer");
};

const wrapIv = Buffer.alloc(8, 0xa6);

const wrap = (wrappingKey: Buffer, contentKey: Uint8Array): string => {
  const cipher = createCipheriv("id-aes256-wrap", wrappingKey, wrapIv);
  return Base64Url.encode(Buffer.concat([cipher.update(contentKey), cipher.final()]));
};

const unwrap = (wrappingKey: Buffer, encryptedKey: string): KeyObject | null => {
  try {
    const decipher = createDecipheriv("id-aes256-wrap", wrappingKey, wrapIv);
    const wrapped = Buffer.from(encryptedKey, "base64url");
    return createSecretKey(Buffer.concat([decipher.update(wrapped), decipher.final()]));
  } catch {
    return null;
  }
};

interface ContentKey {
  readonly key: KeyObject;
  readonly protectedHeader: string;
  readonly recipients: ReadonlyArray<Sealed.SealedRecipient>;
  readonly drawnAt: number;
  uses: number;
}

const drawContentKey = (
  random: SealingKeys.Random,
  drawnAt: number,
  recipients: ReadonlyArray<Recipient>,
): ContentKey => {
  const ephemeral = SealingKeys.fromSeed(random(32));
  const contentKey = random(32);
  return {
    key: createSecretKey(contentKey),
    protectedHeader: Sealed.encodeHeader(ephemeral.publicKey),
    recipients: recipients.map(({ agentId, sealingKey }) => {
      const secret = ephemeral.agree(sealingKey);
      if (secret === null) throw new SealingError(agentId);
      return { encrypted_key: wrap(wrappingKeyOf(secret), contentKey), header: { kid: agentId } };
    }),
    drawnAt,
    uses: 0,
  };
};

export interface SealerOptions {
  readonly random: SealingKeys.Random;
  readonly clock: Clock;
  /** Smaller bounds, for tests. */
  readonly envelopesPerContentKeyMax?: number;
  readonly contentKeysKeptMax?: number;
}

export const createSealer = (options: SealerOptions): Sealer => {
  const usesMax = options.envelopesPerContentKeyMax ?? Limits.envelopesPerContentKeyMax;
  const keptMax = options.contentKeysKeptMax ?? Limits.contentKeysKeptMax;
  const kept = new Map<string, ContentKey>();

  const contentKeyFor = (recipients: ReadonlyArray<Recipient>): ContentKey => {
    const set = recipients.map(({ agentId, sealingKey }) => agentId + sealingKey).join();
    const now = options.clock();
    const known = kept.get(set);
    const age = known === undefined ? 0 : now - known.drawnAt;
    if (known !== undefined && known.uses < usesMax && age >= 0 && age < Limits.contentKeyLifetimeMs) {
      return known;
    }
    const drawn = drawContentKey(options.random, now, recipients);
    kept.delete(set);
    if (kept.size >= keptMax) kept.delete(kept.keys().next().value as string);
    kept.set(set, drawn);
    return drawn;
  };

  return {
    seal: (recipients, plaintext) => {
      const contentKey = contentKeyFor(recipients);
      contentKey.uses += 1;
      const iv = options.random(Sealed.ivBytes);
      const cipher = createCipheriv("aes-256-gcm", contentKey.key, iv);
      cipher.setAAD(Buffer.from(contentKey.protectedHeader, "ascii"));
      const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
      return {
        ciphertext: Base64Url.encode(ciphertext),
        iv: Base64Url.encode(iv),
        protected: contentKey.protectedHeader,
        recipients: contentKey.recipients,
        tag: Base64Url.encode(cipher.getAuthTag()),
      };
    },
  };
};

const decrypt = (key: KeyObject, sealed: Sealed.Sealed): Buffer | null => {
  const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(sealed.iv, "base64url"), {
    authTagLength: Sealed.tagBytes,
  });
  decipher.setAAD(Buffer.from(sealed.protected, "ascii"));
  decipher.setAuthTag(Buffer.from(sealed.tag, "base64url"));
  const opened = decipher.update(Buffer.from(sealed.ciphertext, "base64url"));
  try {
    decipher.final();
    return opened;
  } catch {
    return null;
  }
};

export interface OpenerOptions {
  readonly agentId: AgentId;
  readonly sealingKey: SealingKeys.SealingSecret;
  readonly openedKeysKeptMax?: number;
}

export const createOpener = ({ agentId, sealingKey, openedKeysKeptMax }: OpenerOptions): Opener => {
  const keptMax = openedKeysKeptMax ?? Limits.openedKeysKeptMax;
  const kept = new Map<string, KeyObject>();

  const contentKeyOf = (header: string, encryptedKey: string): KeyObject | null => {
    let ephemeralKey: SealingKey;
    try {
      ephemeralKey = Sealed.ephemeralKeyOf(header);
    } catch {
      return null;
    }
    const secret = sealingKey.agree(ephemeralKey);
    return secret === null ? null : unwrap(wrappingKeyOf(secret), encryptedKey);
  };

  return {
    open: (sealed) => {
      const entry = sealed.recipients.find(({ header }) => header.kid === agentId);
      if (entry === undefined) return null;
      const name = `${sealed.protected}.${entry.encrypted_key}`;
      const known = kept.get(name);
      if (known !== undefined) return decrypt(known, sealed);
      const key = contentKeyOf(sealed.protected, entry.encrypted_key);
      if (key === null || key.symmetricKeySize !== 32) return null;
      const plaintext = decrypt(key, sealed);
      // Only a key that has opened something is kept, so junk cannot push good keys out.
      if (plaintext !== null) {
        if (kept.size >= keptMax) kept.delete(kept.keys().next().value as string);
        kept.set(name, key);
      }
      return plaintext;
    },
  };
};
