// `endpoint.json`: where a ready daemon says how to reach it, by its mode whether that takes a token, and what tells it from
// every other process and start. Written in one step when it is ready, removed by the same daemon when it stops; after a
// kill it is stale, and whoever calls finds that out before they say anything. Implements RUN-22, RUN-32, RUN-176, RUN-302.

import { rmSync } from "node:fs";
import * as Schema from "effect/Schema";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Configuration from "./Configuration.ts";
import * as PrivateFile from "./PrivateFile.ts";
import * as StartSecret from "./StartSecret.ts";
import { codeOf, StateError } from "./StateError.ts";
import type { StateFolder } from "./StateFolder.ts";

/** Of `ProcessBirth`, which may be in the words of the system's `ps`. */
const Birth = Schema.String.check(Schema.isPattern(/^[^\p{Cc}]{1,64}$/u));

const Version = Schema.String.check(Schema.isPattern(/^[0-9A-Za-z.+-]{1,64}$/));

const schema = Schema.Struct({
  pid: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  /** Of that process, as `ProcessBirth` says it; null where nobody can tell. */
  born: Schema.NullOr(Birth),
  /** See `StartSecret`. */
  secret: Schema.String.check(Schema.isPattern(StartSecret.pattern)),
  mcpUrl: Schema.String.check(Schema.isPattern(/^http:\/\/127\.0\.0\.1:\d{1,5}\/mcp$/)),
  mode: Configuration.schema.fields.mode,
  /** Of the daemon. */
  version: Version,
});
export type Endpoint = typeof schema.Type;

const bytesMax = 512;
const decode = Closed.bytesDecoder(schema, { bytesMax, depthMax: 1 });

export const write = (folder: StateFolder, endpoint: Endpoint): void =>
  PrivateFile.replace(folder.endpoint, CanonicalJson.encode(endpoint));

/**
 * Whoever wrote it; for a start that holds the lock, because what an earlier daemon left behind leads nowhere. Where the
 * disk takes no change the file stays, as after a kill.
 */
export const remove = (folder: StateFolder): void => {
  try {
    rmSync(folder.endpoint, { force: true });
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
};

/**
 * Unless it is another start's by now: where the folder was moved away from under a daemon and another one put in its place,
 * that one's daemon must stay to be found.
 */
export const removeOwn = (folder: StateFolder, secret: string): void => {
  let written: Endpoint | null;
  try {
    written = read(folder);
  } catch (error) {
    // What this start cannot read it has not written.
    if (error instanceof StateError) return;
    throw error;
  }
  if (written?.secret === secret) remove(folder);
};

/** How to reach the daemon of this folder, or null when none is ready. */
export const read = (folder: StateFolder): Endpoint | null => {
  const text = PrivateFile.read(folder.endpoint, bytesMax);
  if (text === null) return null;
  try {
    return decode(Buffer.from(text, "utf8"));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new StateError(
      "malformed",
      `${folder.endpoint} is damaged, or a daemon of another version wrote it`,
      "stop that daemon and start it again, from the same installation as this command",
    );
  }
};
