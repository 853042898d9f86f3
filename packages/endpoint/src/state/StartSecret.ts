// How a daemon proves that it is the one that wrote `endpoint.json`: with a secret of this start that stands nowhere else,
// and that is never sent itself. Whoever can read the file asks with random characters and knows the one right answer; a
// program that has come to listen at the address of a daemon that is gone does not. Implements RUN-301.

import { createHmac } from "node:crypto";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";

const bytes = 32;

/** 32 random bytes in base64url, as a secret and as what somebody asks with. */
export const pattern = /^[A-Za-z0-9_-]{43}$/;

export const create = (random: (byteCount: number) => Uint8Array): string => Base64Url.encode(random(bytes));

/** What the daemon with this secret answers who asks with `challenge`. */
export const answer = (secret: string, challenge: string): string =>
  createHmac("sha256", secret).update(`social-harness start ${challenge}`).digest("base64url");
