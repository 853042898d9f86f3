// The one line that describes a network: where its two services are, which keys to trust, and perhaps a credential that
// admits. `shn1_` and the base64url of the canonical JSON. Implements IDN-40.

import * as Schema from "effect/Schema";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { SigningKey } from "@social-harness/protocol/identity/Identifier";
import { AdmissionCredential } from "./Admission.ts";
import * as Limits from "./Limits.ts";
import { RegistryUrl, RouterUrl } from "./NetworkUrl.ts";

const prefix = "shn1_";

const strict = Schema.makeFilter(
  (key: SigningKey) => Ed25519.isStrictKey(key) || "expected a key of the strict Ed25519 profile",
);

const description = {
  registryUrl: RegistryUrl,
  routerUrl: RouterUrl,
  registryKey: SigningKey.schema.check(strict),
  routerKey: SigningKey.schema.check(strict),
};

/** What everybody may know about a network. */
export const NetworkDescription = Schema.Struct(description);
export type NetworkDescription = typeof NetworkDescription.Type;

/** A network description, with an admission credential when it also admits. */
export const schema = Schema.Struct({
  ...description,
  admission: Schema.optionalKey(AdmissionCredential),
});
export type Invite = typeof schema.Type;

const decodeBytes = Closed.bytesDecoder(schema, { bytesMax: Limits.inviteCharactersMax, depthMax: 1 });

export const encode = (invite: Invite): string =>
  prefix + Base64Url.encode(CanonicalJson.encodeBytes(invite));

/** Reads an invite string. Throws `DecodeError`, which never repeats the text: it may hold a credential. */
export const decode = (text: string): Invite => {
  if (text.length > Limits.inviteCharactersMax) {
    throw new DecodeError("too-large", "the invite is too long");
  }
  const bytes = text.startsWith(prefix) ? Base64Url.decode(text.slice(prefix.length)) : null;
  if (bytes === null) throw new DecodeError("not-canonical", "an invite is shn1_ and canonical base64url");
  return decodeBytes(bytes);
};
