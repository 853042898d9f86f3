// The one preimage rule: a domain tag, then JCS bytes. Everything hashed or signed goes through here (FND-10).

import { hash as digest } from "node:crypto";
import * as CanonicalJson from "./CanonicalJson.ts";

/** tag(artifact) || JCS(value): what is hashed, and what is signed. */
export const preimage = (artifact: string, value: CanonicalJson.Json): Buffer =>
  Buffer.from(`social-harness/v1/${artifact}\0${CanonicalJson.encode(value)}`, "utf8");

/** SHA-256 over the preimage, 32 bytes. */
export const hash = (artifact: string, value: CanonicalJson.Json): Buffer =>
  digest("sha256", preimage(artifact, value), "buffer");
