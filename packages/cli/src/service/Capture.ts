// One short command of the machine's service manager, with what it prints.

import { spawn } from "node:child_process";

export type Captured =
  | { readonly ok: true; readonly text: string }
  /** Why it could not be done, in one line. */
  | { readonly ok: false; readonly why: string };

/** Longer than a stop of the daemon may take, which some of these commands wait for. */
const commandMsMax = 30_000;
const textCharactersMax = 65_536;

const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1)?.trim() ?? "";

export const capture = ([program = "", ...words]: ReadonlyArray<string>): Promise<Captured> =>
  new Promise((resolve) => {
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"], timeout: commandMsMax });
    let [text, errors] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text = (text + chunk).slice(0, textCharactersMax);
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      errors = (errors + chunk).slice(0, textCharactersMax);
    });
    child.once("error", (error) =>
      resolve({
        ok: false,
        why: "code" in error && error.code === "ENOENT" ? `there is no ${program} here` : error.message,
      }),
    );
    child.once("close", (code) => {
      if (code === 0) resolve({ ok: true, text });
      else resolve({ ok: false, why: lastLine(errors) || `${program} ended with ${code ?? "a signal"}` });
    });
  });
