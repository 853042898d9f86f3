// The two keys of a network, the Registry's and the Router's, in one file that only its owner can read. Hands out
// signers, never seeds; a file that others can read is refused rather than used. Implements IDN-42.

import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import * as Schema from "effect/Schema";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { Random } from "./Admission.ts";
import * as Limits from "./Limits.ts";

export interface NetworkKeys {
  readonly registry: Signer;
  readonly router: Signer;
}

/** absent: no such file. exists: there is one already. exposed: others may read or write it. malformed: not such a file. */
export type NetworkKeysReason = "absent" | "exists" | "exposed" | "malformed" | "unavailable";

export class NetworkKeysError extends Error {
  override readonly name = "NetworkKeysError";
  readonly reason: NetworkKeysReason;
  constructor(reason: NetworkKeysReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

const File = Schema.Struct({
  kind: Schema.Literal("network_keys"),
  registrySeed: Opaque32.schema,
  routerSeed: Opaque32.schema,
});

const decodeFile = Closed.bytesDecoder(File, { bytesMax: Limits.networkKeysBytesMax, depthMax: 1 });

const signersOf = (file: typeof File.Type): NetworkKeys => ({
  registry: Ed25519.signerFromSeed(Opaque32.toBytes(file.registrySeed)),
  router: Ed25519.signerFromSeed(Opaque32.toBytes(file.routerSeed)),
});

const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined;

/** Turns the file system's errors into this file's. */
const guarded = <T>(path: string, work: () => T): T => {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof NetworkKeysError) throw cause;
    if (cause instanceof DecodeError) {
      throw new NetworkKeysError("malformed", `${path} is not a network key file`, cause);
    }
    const code = codeOf(cause);
    if (code === undefined) throw cause;
    if (code === "ENOENT") throw new NetworkKeysError("absent", `${path} does not exist`, cause);
    if (code === "EEXIST") throw new NetworkKeysError("exists", `${path} exists already`, cause);
    throw new NetworkKeysError("unavailable", `${path}: ${code}`, cause);
  }
};

/** Loads the keys of a network. Throws `NetworkKeysError`. */
export const load = (path: string): NetworkKeys =>
  guarded(path, () => {
    // A pipe that nobody writes to must not be waited for.
    const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const found = fstatSync(descriptor);
      const { mode, size } = found;
      if ((mode & 0o077) !== 0) {
        throw new NetworkKeysError("exposed", `${path} is open to others; its mode must be 0600`);
      }
      if (!found.isFile() || size > Limits.networkKeysBytesMax) {
        throw new NetworkKeysError("malformed", `${path} is not a network key file`);
      }
      return signersOf(decodeFile(readFileSync(descriptor)));
    } finally {
      closeSync(descriptor);
    }
  });

const syncFolder = (folder: string): void => {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};

/** Makes the keys of a new network. The file appears whole or not at all, and never replaces another. */
export const create = (path: string, random: Random): NetworkKeys =>
  guarded(path, () => {
    const file: typeof File.Type = {
      kind: "network_keys",
      registrySeed: Opaque32.fromBytes(random(32)),
      routerSeed: Opaque32.fromBytes(random(32)),
    };
    const temporary = `${path}.${process.pid}.new`;
    rmSync(temporary, { force: true });
    const descriptor = openSync(temporary, "wx", 0o600);
    try {
      try {
        writeFileSync(descriptor, CanonicalJson.encodeBytes(file));
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      linkSync(temporary, path);
    } finally {
      rmSync(temporary, { force: true });
    }
    syncFolder(dirname(path));
    return signersOf(file);
  });

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
};

/** What a killed start was about to put in place: the keys, or half of them, under a second name. */
const removeLeftovers = (path: string): void => {
  const [folder, name] = [dirname(path), basename(path)];
  for (const other of readdirSync(folder).filter((one) => one.startsWith(`${name}.`))) {
    const [, pid] = /^\.([1-9]\d{0,9})\.new$/.exec(other.slice(name.length)) ?? [];
    if (pid !== undefined && isGone(Number(pid))) rmSync(join(folder, other), { force: true });
  }
};

/** The keys of the network in `path`, made at the first start. Two starts at once end with the same keys. */
export const loadOrCreate = (path: string, random: Random): NetworkKeys => {
  const keys = loadedOrCreated(path, random);
  guarded(path, () => removeLeftovers(path));
  return keys;
};

const loadedOrCreated = (path: string, random: Random): NetworkKeys => {
  try {
    return load(path);
  } catch (cause) {
    if (!(cause instanceof NetworkKeysError) || cause.reason !== "absent") throw cause;
  }
  try {
    return create(path, random);
  } catch (cause) {
    if (!(cause instanceof NetworkKeysError) || cause.reason !== "exists") throw cause;
    return load(path);
  }
};
