// Reading an export from a file and verifying it against a pinned key. Needs no daemon and no network. Implements RUN-42.

import { open, type FileHandle } from "node:fs/promises";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Export from "@social-harness/protocol/history/Export";
import { failed } from "../Failure.ts";

const chunkBytes = 262_144;

const openFile = async (path: string): Promise<FileHandle> => {
  try {
    return await open(path, "r");
  } catch (error) {
    throw failed(
      "file-unreadable",
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      "Give the path of a file that `social-harness export` wrote.",
      error,
    );
  }
};

/** Verifies the whole file; `onPost` gets each post when its record has verified. */
export const verifyFile = async (
  path: string,
  registryKey: SigningKey,
  onPost: (post: Export.VerifiedPost) => void,
) => {
  const file = await openFile(path);
  try {
    const reader = Export.createReader({ verifier: Ed25519.verifier, registryKey });
    for await (const chunk of file.createReadStream({ autoClose: false, highWaterMark: chunkBytes })) {
      reader.write(chunk as Uint8Array).forEach(onPost);
    }
    return reader.finish();
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
  } finally {
    await file.close();
  }
};
