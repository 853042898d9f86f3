// `endpoint.json`: where a ready daemon says how to reach it, and by its mode whether that takes a token. Written in one
// step when it is ready, removed when it stops; after a kill it is stale, and whoever calls finds nobody there.
// Implements RUN-22, RUN-32 and RUN-176.

import { rmSync } from "node:fs";
import * as Schema from "effect/Schema";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Configuration from "./Configuration.ts";
import * as PrivateFile from "./PrivateFile.ts";
import { codeOf, StateError } from "./StateError.ts";
import type { StateFolder } from "./StateFolder.ts";

const Version = Schema.String.check(Schema.isPattern(/^[0-9A-Za-z.+-]{1,64}$/));

const schema = Schema.Struct({
  pid: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
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
 * Also at start-up, once the lock is held: what an earlier daemon left behind leads nowhere. Where the disk takes no change
 * the file stays, as after a kill.
 */
export const remove = (folder: StateFolder): void => {
  try {
    rmSync(folder.endpoint, { force: true });
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
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
