// Reading an export from a file and verifying it against a pinned key. Needs no daemon and no network.
// Implements RUN-42 and HIS-118.

import { open, stat } from "node:fs/promises";
import * as DeferredVerifier from "@social-harness/protocol/identity/DeferredVerifier";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Export from "@social-harness/protocol/history/Export";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import { failed } from "../Failure.ts";

const chunkBytes = 262_144;

const readable = async <A>(path: string, attempt: Promise<A>): Promise<A> => {
  try {
    return await attempt;
  } catch (error) {
    throw failed(
      "file-unreadable",
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      "Give the path of a file that `social-harness export` wrote.",
      error,
    );
  }
};

type Read = { readonly posts: ReadonlyArray<Export.VerifiedPost> } & Export.VerifiedExport;

/** Reads the file to its end; `settle` is awaited after every chunk. */
const readThrough = async (path: string, trust: Trust, settle: () => Promise<void>): Promise<Read> => {
  const posts: Array<Export.VerifiedPost> = [];
  const reader = Export.createReader(trust);
  const file = await readable(path, open(path, "r"));
  for await (const chunk of file.createReadStream({ highWaterMark: chunkBytes })) {
    posts.push(...reader.write(chunk as Uint8Array));
    await settle();
  }
  const verified = reader.finish();
  await settle();
  return { posts, ...verified };
};

/** With the signatures on the thread pool, or null when anything is amiss. */
const readInPool = async (path: string, registryKey: SigningKey): Promise<Read | null> => {
  const { verifier, settle } = DeferredVerifier.create();
  try {
    return await readThrough(path, { verifier, registryKey }, async () => {
      if (!(await settle())) throw new RecordError("signature", "a signature does not verify");
    });
  } catch (error) {
    if (error instanceof Export.ExportError || error instanceof RecordError) return null;
    throw error;
  }
};

/**
 * Verifies the whole file. Where anything is amiss it is read again, signature by signature, to say in which line; a pipe,
 * which gives its bytes once, is read in that way from the start.
 */
export const verifyFile = async (path: string, registryKey: SigningKey): Promise<Read> => {
  const isFile = (await readable(path, stat(path))).isFile();
  try {
    const read = isFile ? await readInPool(path, registryKey) : null;
    return read ?? (await readThrough(path, { verifier: Ed25519.verifier, registryKey }, async () => {}));
  } catch (error) {
    if (!(error instanceof Export.ExportError)) throw error;
    if (error.reason === "registry-key") {
      throw failed(
        "other-network",
        `this file belongs to another network than the trusted key: ${error.message}`,
        "Verify it with --registry-key and the key of its own network, from a source you trust; never take it from the file itself.",
        error,
      );
    }
    throw failed(
      "export-invalid",
      `this is no intact export: ${error.message}`,
      "Nothing in the file can be relied on: ask the exporter, or another member, for a new export.",
      error,
    );
  }
};
