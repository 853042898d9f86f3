// The owner's credential: a file that is made once and rotated by rewriting it. Read again on every use, so a rotation
// needs no restart. Implements RUN-20.

import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import * as PrivateFile from "./PrivateFile.ts";
import { StateError } from "./StateError.ts";
import type { StateFolder } from "./StateFolder.ts";

const charactersMin = 32;
const charactersMax = 1_024;
/** What an `Authorization: Bearer` header can carry (RFC 6750). */
const pattern = /^[A-Za-z0-9._~+/-]+=*$/;

/** Makes the token unless there is one. */
export const ensure = (folder: StateFolder, random: (byteCount: number) => Uint8Array): void => {
  PrivateFile.createOnce(folder.ownerToken, Base64Url.encode(random(32)));
};

/** The token as it stands in its file now. Throws `missing`, `malformed` or `permissions`; never repeats the text. */
export const read = (folder: StateFolder): string => {
  const text = PrivateFile.read(folder.ownerToken, charactersMax);
  if (text === null) {
    throw new StateError("missing", `${folder.ownerToken} is missing: start the daemon once to make it`);
  }
  if (text.length < charactersMin || !pattern.test(text)) {
    throw new StateError(
      "malformed",
      `${folder.ownerToken} must hold at least ${charactersMin} characters of a bearer token and no line end`,
    );
  }
  return text;
};
