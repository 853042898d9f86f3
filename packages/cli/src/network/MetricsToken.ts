// Who may read what the Registry and the Router count: whoever shows the token in `metrics-token` of the network's folder. Their
// ports are the world's, and behind a proxy everybody seems to come from this machine, so an address proves nothing. The file is
// read at each request: written anew, it counts at once. Implements RUN-146.

import { hash, timingSafeEqual } from "node:crypto";
import * as PrivateFile from "@social-harness/endpoint/state/PrivateFile";
import { StateError } from "@social-harness/endpoint/state/StateError";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import type { NetworkFiles } from "./NetworkFiles.ts";

/** As few as keep a token from being guessed, as many as a header carries. */
const charactersMin = 32;
const charactersMax = 1_024;

export const ensure = (folder: NetworkFiles, random: (byteCount: number) => Uint8Array): void => {
  PrivateFile.createOnce(folder.metricsToken, Base64Url.encode(random(32)));
};

/** The token as it stands now; null where the file is absent, others may read it, or it holds none. */
const read = (folder: NetworkFiles): string | null => {
  try {
    const text = PrivateFile.read(folder.metricsToken, charactersMax);
    return text !== null && text.length >= charactersMin ? text : null;
  } catch (error) {
    if (error instanceof StateError) return null;
    throw error;
  }
};

const digestOf = (text: string): Buffer => hash("sha256", text, "buffer");

/** Digests are compared: the time that it takes tells nothing, not even a length. */
export const reader =
  (folder: NetworkFiles) =>
  (authorization: string | undefined): boolean => {
    const offered = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    const token = offered === undefined ? null : read(folder);
    return offered !== undefined && token !== null && timingSafeEqual(digestOf(offered), digestOf(token));
  };
