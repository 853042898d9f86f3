// The closed shape of a sealed body: a General JWE (RFC 7516) with one ciphertext and one wrapped key per recipient.
// Says what a Router may see of it. Opens and makes nothing. Implements RTR-10.

import { AgentId, SealingKey } from "@social-harness/protocol/identity/Identifier";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import * as Schema from "effect/Schema";
import * as Limits from "../Limits.ts";

export const ivBytes = 12;
export const tagBytes = 16;
/** An AES key wrap adds one 8-byte block to the 32 bytes of a content key. */
const wrappedKeyBytes = 40;

const exactly = (byteCount: number) => Schema.String.check(Schema.isPattern(Base64Url.patternOf(byteCount)));

/** Any number of bytes, in their one spelling: the unused bits of the last character are zero. */
const isCanonical = (text: string): boolean => {
  const rest = text.length % 4;
  return (
    /^[A-Za-z0-9_-]+$/.test(text) &&
    rest !== 1 &&
    (rest === 0 || (rest === 2 ? "AQgw" : "AEIMQUYcgkosw048").includes(text.at(-1) as string))
  );
};

const anyBytes = Schema.String.check(
  Schema.makeFilter((text: string) => isCanonical(text) || "expected canonical base64url"),
);

export const schema = Schema.Struct({
  ciphertext: anyBytes,
  iv: exactly(ivBytes),
  protected: anyBytes.check(Schema.isMaxLength(Limits.protectedHeaderCharactersMax)),
  recipients: Schema.Array(
    Schema.Struct({
      encrypted_key: exactly(wrappedKeyBytes),
      header: Schema.Struct({ kid: AgentId.schema }),
    }),
  ).check(Schema.isMinLength(1), Schema.isMaxLength(Limits.recipientsMax)),
  tag: exactly(tagBytes),
});
export type Sealed = typeof schema.Type;
export type SealedRecipient = Sealed["recipients"][number];

/** The protected header that every envelope carries: one ephemeral key for all recipients. */
const headerSchema = Schema.Struct({
  alg: Schema.Literal("ECDH-ES+A256KW"),
  enc: Schema.Literal("A256GCM"),
  epk: Schema.Struct({ crv: Schema.Literal("X25519"), kty: Schema.Literal("OKP"), x: SealingKey.schema }),
});

const decodeHeaderBytes = Closed.bytesDecoder(headerSchema, {
  bytesMax: Limits.protectedHeaderCharactersMax,
  depthMax: 2,
});

export const encodeHeader = (ephemeralKey: SealingKey): string =>
  Base64Url.encode(
    CanonicalJson.encodeBytes({
      alg: "ECDH-ES+A256KW",
      enc: "A256GCM",
      epk: { crv: "X25519", kty: "OKP", x: ephemeralKey },
    }),
  );

/** The ephemeral key of a protected header. Throws `DecodeError` for any header but ours. */
export const ephemeralKeyOf = (header: string): SealingKey =>
  decodeHeaderBytes(Buffer.from(header, "base64url")).epk.x;
