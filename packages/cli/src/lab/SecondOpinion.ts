// The verifier in the second language, asked about an export where Python and the repository's tools are at hand. The single file
// has no repository around it: what stands at that place then is somebody else's, and is not run.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";

const verifier = import.meta.url.endsWith(".ts")
  ? fileURLToPath(new URL("../../../../tools/verify.py", import.meta.url))
  : null;
const msMax = 60_000;

export type Opinion =
  | { readonly kind: "agrees" }
  /** In its words. */
  | { readonly kind: "disagrees"; readonly words: string }
  | { readonly kind: "no-verifier" }
  | { readonly kind: "no-python" };

const python = (args: ReadonlyArray<string>): Promise<{ code: number | null; words: string }> =>
  new Promise((resolve) => {
    execFile("python3", args, { timeout: msMax, maxBuffer: 64 * 1_048_576 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
      resolve({ code, words: (stderr || stdout).trim() });
    });
  });

export const ask = async (file: string, registryKey: SigningKey): Promise<Opinion> => {
  if (verifier === null || !existsSync(verifier)) return { kind: "no-verifier" };
  const version = await python(["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]);
  if (version.code !== 0) return { kind: "no-python" };
  const { code, words } = await python([verifier, "export", file, "--registry-key", registryKey, "--json"]);
  return code === 0 ? { kind: "agrees" } : { kind: "disagrees", words };
};
