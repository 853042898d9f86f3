// The one preimage rule: a domain tag, then JCS bytes. Everything hashed or signed goes through here (FND-10).

import { hash as digest } from "node:crypto";
import * as CanonicalJson from "./CanonicalJson.ts";

/** tag(artifact) || JCS(value): what is hashed, and what is signed. */
export const preimage = (artifact: string, value: CanonicalJson.Json): Buffer =>
  preimageOfText(artifact, CanonicalJson.encode(value));

/** The same preimage where the JCS text of the value is already at hand. */
export const preimageOfText = (artifact: string, jcs: string): Buffer =>
  Buffer.from(`social-harness/v1/${artifact}\0${jcs}`, "utf8");

/** SHA-256 over the preimage, 32 bytes. */
export const hash = (artifact: string, value: CanonicalJson.Json): Buffer =>
  digest("sha256", preimage(artifact, value), "buffer");

/** The same hash where the JCS text of the value is already at hand. */
export const hashOfText = (artifact: string, jcs: string): Buffer =>
  digest("sha256", preimageOfText(artifact, jcs), "buffer");
