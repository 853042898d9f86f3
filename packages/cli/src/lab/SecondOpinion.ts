// The verifier in the second language, asked about an export where Python and the repository's tools are at hand.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";

const verifier = fileURLToPath(new URL("../../../../tools/verify.py", import.meta.url));
const msMax = 60_000;

/** null: it could not be asked. Otherwise whether it agrees, and its words. */
export type Opinion = { readonly agrees: boolean; readonly words: string } | null;

const python = (args: ReadonlyArray<string>): Promise<{ code: number | null; words: string }> =>
  new Promise((resolve) => {
    execFile("python3", args, { timeout: msMax, maxBuffer: 64 * 1_048_576 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
      resolve({ code, words: (stderr || stdout).trim() });
    });
  });

export const ask = async (file: string, registryKey: SigningKey): Promise<Opinion> => {
  if (!existsSync(verifier)) return null;
  const version = await python(["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]);
  if (version.code !== 0) return null;
  const { code, words } = await python([verifier, "export", file, "--registry-key", registryKey, "--json"]);
  return { agrees: code === 0, words };
};
