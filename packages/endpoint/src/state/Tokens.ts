// The credentials that open the endpoint: a file for its owner, and in credentials mode another for the runtime that acts
// for the agent. Each is made once and rotated by rewriting it. Both are read again on every use, so a rotation needs no
// restart; a file that is not as it should be opens nothing. Implements RUN-20, MGT-70 and MGT-71.

import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import type { Mode } from "./Configuration.ts";
import * as PrivateFile from "./PrivateFile.ts";
import { StateError } from "./StateError.ts";
import type { StateFolder } from "./StateFolder.ts";

const charactersMin = 32;
const charactersMax = 1_024;
/** What an `Authorization: Bearer` header can carry (RFC 6750). */
const pattern = /^[A-Za-z0-9._~+/-]+=*$/;

/** The tokens as they stand in their files now; null where none lets anybody in. */
export interface Tokens {
  readonly owner: string | null;
  readonly runtime: string | null;
}

interface Reading extends Tokens {
  /** What keeps a token from being good, and what to do; never what a file holds. */
  readonly troubles: ReadonlyArray<StateError>;
}

const filesOf = (folder: StateFolder, mode: Mode): ReadonlyArray<string> =>
  mode === "credentials" ? [folder.ownerToken, folder.runtimeToken] : [folder.ownerToken];

/** Makes the tokens of the mode that are not there yet. */
export const ensure = (folder: StateFolder, mode: Mode, random: (byteCount: number) => Uint8Array): void => {
  for (const path of filesOf(folder, mode)) PrivateFile.createOnce(path, Base64Url.encode(random(32)));
};

const missing = (path: string): StateError =>
  new StateError("missing", `${path} is missing`, "start the daemon again to make it");

/** Throws `missing`, `malformed`, `permissions` or `unavailable`. */
const readFile = (path: string): string => {
  const text = PrivateFile.read(path, charactersMax);
  if (text === null) throw missing(path);
  if (text.length >= charactersMin && pattern.test(text)) return text;
  throw new StateError(
    "malformed",
    `${path} must hold at least ${charactersMin} characters of a bearer token and no line end`,
    "write it anew, or delete it and start the daemon again to make another",
  );
};

/** Tokens that are one and the same would make the runtime its own owner, so neither is good. */
const sameToken = (folder: StateFolder): StateError =>
  new StateError(
    "malformed",
    `${folder.ownerToken} and ${folder.runtimeToken} hold the same token`,
    "delete one and start the daemon again to make another",
  );

const read = (folder: StateFolder, mode: Mode): Reading => {
  const troubles: Array<StateError> = [];
  const [owner = null, runtime = null] = filesOf(folder, mode).map((path) => {
    try {
      return readFile(path);
    } catch (error) {
      if (!(error instanceof StateError)) throw error;
      troubles.push(error);
      return null;
    }
  });
  if (owner === null || owner !== runtime) return { owner, runtime, troubles };
  return { owner: null, runtime: null, troubles: [sameToken(folder)] };
};

/** The owner's token, for whoever calls the daemon of this folder. Throws the `StateError` that says why there is none. */
export const ownerOf = (folder: StateFolder, mode: Mode): string => {
  const { owner, troubles } = read(folder, mode);
  if (owner !== null) return owner;
  throw troubles[0] ?? missing(folder.ownerToken);
};

/** Throws the first trouble with a file of the mode that a start would not mend by making the file. */
export const demandUsable = (folder: StateFolder, mode: Mode): void => {
  const trouble = read(folder, mode).troubles.find(({ reason }) => reason !== "missing");
  if (trouble !== undefined) throw trouble;
};

/** Reads the tokens at each call, and says each trouble once for as long as it lasts. */
export const reader = (
  folder: StateFolder,
  mode: Mode,
  say: (explanation: string) => void,
): (() => Tokens) => {
  let said: ReadonlyArray<string> = [];
  return () => {
    const { owner, runtime, troubles } = read(folder, mode);
    const messages = troubles.map(({ message }) => message);
    for (const message of messages) if (!said.includes(message)) say(message);
    said = messages;
    return { owner, runtime };
  };
};

/** What may appear in no log: each file's token, whatever the mode, as long as it is one. */
export const secrets = (folder: StateFolder): ReadonlyArray<string> =>
  [folder.ownerToken, folder.runtimeToken].flatMap((path) => {
    try {
      return [readFile(path)];
    } catch {
      return [];
    }
  });
