// How a command fails: a closed exit code, a reason for programs, a sentence for people and what to do next.
// Implements RUN-02, RUN-03 and RUN-268.

import { ConfigurationError } from "@social-harness/endpoint/state/Configuration";
import { codeOf, StateError } from "@social-harness/endpoint/state/StateError";
import { StoreError } from "@social-harness/endpoint/store/StoreError";
import { LogError } from "@social-harness/log/LogError";

/** 1: it failed. 2: it was asked in a wrong way. 3: the daemon or the network is out of reach. */
export type ExitCode = 1 | 2 | 3;

type Details = Readonly<Record<string, string>>;

interface Words {
  readonly reason: string;
  readonly message: string;
  readonly next: string;
  readonly details?: Details;
}

export class Failure extends Error {
  override readonly name = "Failure";
  readonly exitCode: ExitCode;
  /** A word that programs can compare: a tool's own reason, or one of the command line's. */
  readonly reason: string;
  /** The next step, one sentence. */
  readonly next: string;
  /** What else a program may want to know of it, by name. */
  readonly details: Details;
  constructor(exitCode: ExitCode, words: Words, options?: ErrorOptions) {
    super(words.message, options);
    this.exitCode = exitCode;
    this.reason = words.reason;
    this.next = words.next;
    this.details = words.details ?? {};
  }
  /** The same failure in other words. */
  with(words: Partial<Words>): Failure {
    const { exitCode, reason, message, next, details } = this;
    return new Failure(exitCode, { reason, message, next, details, ...words }, { cause: this });
  }
}

export const failed = (reason: string, message: string, next: string, cause?: unknown): Failure =>
  new Failure(1, { reason, message, next }, cause === undefined ? undefined : { cause });

export const misused = (message: string, next: string): Failure =>
  new Failure(2, { reason: "usage", message, next });

export const unreachable = (reason: string, message: string, next: string, cause?: unknown): Failure =>
  new Failure(3, { reason, message, next }, cause === undefined ? undefined : { cause });

export const interrupted = (): Failure => failed("interrupted", "interrupted", "Everything was cleaned up.");

/** The next step where nobody foresaw what happened. */
export const ofDefect =
  "This is a defect of social-harness: run it again with NODE_DEBUG=social-harness and report what it prints.";

/** The next step where something only took too long, on a machine that may be busy. */
export const tryAgain =
  "Run it again when the machine has less to do; if it stays so, NODE_DEBUG=social-harness prints more of it.";

/** A next step of the endpoint, which stands behind a colon there. */
export const sentence = (next: string): string => `${next.charAt(0).toUpperCase()}${next.slice(1)}.`;

type Source = "flag" | "variable" | "file";

/** Where the setting stands that an issue names. */
const sourceOf = (path: string): Source => {
  if (path.startsWith("--")) return "flag";
  return path.startsWith("SOCIAL_HARNESS_") ? "variable" : "file";
};

const whereOf = (sources: ReadonlySet<Source>): string =>
  (sources.has("variable")
    ? "; a SOCIAL_HARNESS_ variable stands in the environment: unset it, or set it anew"
    : "") + (sources.has("file") ? "; config.json stands in the state folder" : "");

/**
 * The failure that stands for anything thrown. Errors of the state folder and the configuration say the next step
 * themselves; whatever nobody foresaw is a defect, in its own words.
 */
export const ofUnknown = (error: unknown): Failure => {
  if (error instanceof Failure) return error;
  if (error instanceof StateError || error instanceof StoreError) {
    const kind = error instanceof StateError ? "state" : "store";
    return failed(`${kind}-${error.reason}`, error.what, sentence(error.next), error);
  }
  if (error instanceof ConfigurationError) {
    const sources = new Set(error.issues.map(({ path }) => sourceOf(path)));
    const isUsage = sources.size === 1 && sources.has("flag");
    const next = isUsage
      ? "Correct it: `social-harness daemon --help` shows what each flag takes."
      : `Correct what is named there${whereOf(sources)}.`;
    const fields = { reason: "configuration-invalid", message: error.message, next };
    return new Failure(isUsage ? 2 : 1, fields, { cause: error });
  }
  if (error instanceof LogError) {
    const next =
      error.reason === "newer"
        ? "Run the installation that wrote it, or update this one."
        : "Nothing was changed. Check the disk, and that the folder is a network's.";
    return failed(`log-${error.reason}`, `the network's log cannot be used: ${error.message}`, next, error);
  }
  const code = codeOf(error);
  if (code === "EMFILE" || code === "ENFILE") {
    return failed(
      "too-many-files",
      `${code === "EMFILE" ? "this process" : "this machine"} may open no more files (${code})`,
      "Raise the limit: `ulimit -n` in the shell that starts it, `LimitNOFILE=` in a unit. A daemon needs some hundred.",
      error,
    );
  }
  return failed("internal", error instanceof Error ? error.message : String(error), ofDefect, error);
};
