// The credentials that open the endpoint: a file for its owner, one for whoever measures it, and in credentials mode another
// for the runtime that acts for the agent. Each is made once and rotated by rewriting it. All are read again on every use, so
// a rotation needs no restart; a file that is not as it should be opens nothing. Implements RUN-20, MGT-70, MGT-71 and RUN-297.

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
  /** Shows how the endpoint does and what it counted, and opens nothing. */
  readonly metrics: string | null;
}

const none: Tokens = { owner: null, runtime: null, metrics: null };

interface Trouble {
  /** Whose token is not good by it. */
  readonly holders: ReadonlyArray<keyof Tokens>;
  readonly error: StateError;
}

interface Reading {
  readonly tokens: Tokens;
  /** What keeps a token from being good, and what to do; never what a file holds. */
  readonly troubles: ReadonlyArray<Trouble>;
}

const files: Readonly<Record<keyof Tokens, "ownerToken" | "runtimeToken" | "metricsToken">> = {
  owner: "ownerToken",
  runtime: "runtimeToken",
  metrics: "metricsToken",
};

/** Those that count in the mode, the owner's first. */
const holdersOf = (mode: Mode): ReadonlyArray<keyof Tokens> =>
  mode === "credentials" ? ["owner", "runtime", "metrics"] : ["owner", "metrics"];

/** Makes the tokens of the mode that are not there yet. */
export const ensure = (folder: StateFolder, mode: Mode, random: (byteCount: number) => Uint8Array): void => {
  for (const holder of holdersOf(mode))
    PrivateFile.createOnce(folder[files[holder]], Base64Url.encode(random(32)));
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

/** Tokens that are one and the same would give the one holder what is the other's, so neither is good. */
const sameToken = (one: string, other: string): StateError =>
  new StateError(
    "malformed",
    `${one} and ${other} hold the same token`,
    "delete one and start the daemon again to make another",
  );

const read = (folder: StateFolder, mode: Mode): Reading => {
  const troubles: Array<Trouble> = [];
  const found = new Map<keyof Tokens, string>();
  for (const holder of holdersOf(mode)) {
    try {
      found.set(holder, readFile(folder[files[holder]]));
    } catch (error) {
      if (!(error instanceof StateError)) throw error;
      troubles.push({ holders: [holder], error });
    }
  }
  const tokens: Record<keyof Tokens, string | null> = { ...none, ...Object.fromEntries(found) };
  const held = [...found];
  for (const [index, [one, token]] of held.entries()) {
    for (const [other] of held.slice(index + 1).filter(([, another]) => another === token)) {
      tokens[one] = null;
      tokens[other] = null;
      const error = sameToken(folder[files[one]], folder[files[other]]);
      troubles.push({ holders: [one, other], error });
    }
  }
  return { tokens, troubles };
};

/** The owner's token, for whoever calls the daemon of this folder. Throws the `StateError` that says why there is none. */
export const ownerOf = (folder: StateFolder, mode: Mode): string => {
  const { tokens, troubles } = read(folder, mode);
  if (tokens.owner !== null) return tokens.owner;
  throw troubles.find(({ holders }) => holders.includes("owner"))?.error ?? missing(folder.ownerToken);
};

/** What keeps the tokens of the mode from being good. */
export const troublesOf = (folder: StateFolder, mode: Mode): ReadonlyArray<StateError> =>
  read(folder, mode).troubles.map(({ error }) => error);

/** Those of them that a start does not mend by making the file. */
export const troublesAtStart = (folder: StateFolder, mode: Mode): ReadonlyArray<StateError> =>
  troublesOf(folder, mode).filter(({ reason }) => reason !== "missing");

/** Reads the tokens at each call, and says each trouble once for as long as it lasts. */
export const reader = (
  folder: StateFolder,
  mode: Mode,
  say: (explanation: string) => void,
): (() => Tokens) => {
  let said: ReadonlyArray<string> = [];
  return () => {
    const { tokens, troubles } = read(folder, mode);
    const messages = troubles.map(({ error }) => error.message);
    for (const message of messages) if (!said.includes(message)) say(message);
    said = messages;
    return tokens;
  };
};

/** What may appear in no log: each file's token, whatever the mode, as long as it is one. */
export const secrets = (folder: StateFolder): ReadonlyArray<string> =>
  Object.values(files).flatMap((file) => {
    try {
      return [readFile(folder[file])];
    } catch {
      return [];
    }
  });
