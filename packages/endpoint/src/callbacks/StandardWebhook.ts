// Secrets and signatures of the Standard Webhooks specification, symmetric scheme v1. Keeps a secret in one closed object
// that prints as nothing. Implements ING-77 and ING-78.

import { createHmac, createSecretKey, type KeyObject } from "node:crypto";

/** The key of one subscription. A KeyObject tells its bytes to nobody who merely prints it. */
export type WebhookSecret = KeyObject & { readonly type: "secret" };

const bytesMin = 24;
const bytesMax = 64;
const prefix = "whsec_";

const isSecret = (key: KeyObject): key is WebhookSecret => key.type === "secret";

/** From `whsec_` and the canonical padded base64 of 24 to 64 bytes; null for any other text. */
export const parseSecret = (text: string): WebhookSecret | null => {
  if (!text.startsWith(prefix)) return null;
  const encoded = text.slice(prefix.length);
  const bytes = Buffer.from(encoded, "base64");
  // The decoder takes aliases, gaps and the other alphabet. Only the one spelling comes back as itself.
  if (bytes.length < bytesMin || bytes.length > bytesMax || bytes.toString("base64") !== encoded) return null;
  const key = createSecretKey(bytes);
  return isSecret(key) ? key : null;
};

/** What `webhook-signature` says of these bytes under that id and time, `v1,<base64>`. */
export const sign = (
  secret: WebhookSecret,
  id: string,
  timestampSeconds: number,
  body: Uint8Array,
): string => {
  const mac = createHmac("sha256", secret).update(`${id}.${timestampSeconds}.`).update(body);
  return `v1,${mac.digest("base64")}`;
};
