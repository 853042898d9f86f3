// Admission credentials: minted for an operator, shown once, kept only as a hash, compared in constant time.
// Knows nothing of how often one was used: that is folded from the log.

import { timingSafeEqual } from "node:crypto";
import * as Schema from "effect/Schema";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import { hash } from "@social-harness/protocol/encoding/Hash";
import { Opaque32 } from "@social-harness/protocol/identity/Identifier";

/** Cryptographically random bytes from wherever the composition root takes them. */
export type Random = (byteCount: number) => Uint8Array;

const credentialPattern = Base64Url.patternOf(32, "adm_");

export const AdmissionCredential = Schema.String.check(Schema.isPattern(credentialPattern)).pipe(
  Schema.brand("AdmissionCredential"),
);
export type AdmissionCredential = typeof AdmissionCredential.Type;

export const isAdmissionCredential = (text: string): text is AdmissionCredential =>
  credentialPattern.test(text);

/** The public handle of an invite: 16 bytes of its credential's hash, so that it needs no randomness of its own. */
export const InviteId = Schema.String.check(Schema.isPattern(Base64Url.patternOf(16, "inv_"))).pipe(
  Schema.brand("InviteId"),
);
export type InviteId = typeof InviteId.Type;

export const mint = (random: Random): AdmissionCredential =>
  `adm_${Base64Url.encode(random(32))}` as AdmissionCredential;

export const hashOf = (credential: AdmissionCredential): Opaque32 =>
  Opaque32.fromBytes(hash("admission-credential", { credential }));

export const inviteIdOf = (credentialHash: Opaque32): InviteId =>
  `inv_${Base64Url.encode(Opaque32.toBytes(credentialHash).subarray(0, 16))}` as InviteId;

export const sameHash = (left: Opaque32, right: Opaque32): boolean =>
  timingSafeEqual(Opaque32.toBytes(left), Opaque32.toBytes(right));

/** The credential of an `Authorization` header; null when there is none that could be one. */
export const fromHeader = (authorization: string | undefined): AdmissionCredential | null => {
  const token = /^Bearer (\S+)$/i.exec(authorization ?? "")?.[1];
  return token !== undefined && isAdmissionCredential(token) ? token : null;
};
