// One run of an official tool to its end, with what it wrote. Its environment is this one's, without the settings of
// whoever runs it: neither their endpoints nor their proxies belong to the test.

import { spawn } from "node:child_process";
import process from "node:process";

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

const msMax = 240_000;

const environment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^SOCIAL_HARNESS_|_proxy$/i.test(name)),
  ),
  // Without a choice the Inspector looks for a desktop's keychain and complains that there is none.
  MCP_INSPECTOR_SECRET_STORE: "memory",
});

export const run = (script: string, args: ReadonlyArray<string>): Promise<Ended> => {
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: environment(),
    timeout: msMax,
  });
  let out = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (errors += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out, errors }));
  });
};
