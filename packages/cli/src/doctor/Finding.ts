// What the doctor found at one link of the way: how it is, in a sentence, and what mends it. A check that throws has found
// something, too.

import { ofUnknown } from "../Failure.ts";

/** The links in the order in which a message depends on them. */
export const checks = [
  "folder",
  "keys",
  "configuration",
  "tokens",
  "test-callbacks",
  "firewall",
  "disk",
  "store",
  "registry",
  "router",
  "clock",
  "daemon",
  "version",
  "settings",
  "mcp",
  "connection",
  "standing",
  "webhook",
  "canary",
  "peer",
] as const;
export type Check = (typeof checks)[number];

/** `warning`: it works, and its owner should know. `skipped`: it depends on a link before it that is broken or absent. */
export type Verdict = "ok" | "warning" | "broken" | "skipped";

export interface Finding {
  readonly check: Check;
  readonly verdict: Verdict;
  /** One sentence, without its full stop. */
  readonly message: string;
  /** What to do; empty where nothing is to be done. */
  readonly next: string;
}

export const ok = (check: Check, message: string): Finding => ({ check, verdict: "ok", message, next: "" });
export const warning = (check: Check, message: string, next: string): Finding => ({
  check,
  verdict: "warning",
  message,
  next,
});
export const broken = (check: Check, message: string, next: string): Finding => ({
  check,
  verdict: "broken",
  message,
  next,
});
export const skipped = (check: Check, message: string): Finding => ({
  check,
  verdict: "skipped",
  message,
  next: "",
});

/** Errors of the folder, the store and the configuration say in their message what to do. */
export const ofError = (check: Check, error: unknown): Finding => {
  const { message, next } = ofUnknown(error);
  return broken(check, message, next);
};

/** The finding of `examine`, or what it threw as one. */
export const guarded = async (check: Check, examine: () => Finding | Promise<Finding>): Promise<Finding> => {
  try {
    return await examine();
  } catch (error) {
    return ofError(check, error);
  }
};

/** As `guarded`, for a check that also finds something that later ones need; null where it threw. */
export const finding = async <A>(
  check: Check,
  look: () => readonly [A, Finding] | Promise<readonly [A, Finding]>,
): Promise<readonly [A | null, Finding]> => {
  let found: A | null = null;
  const result = await guarded(check, async () => {
    const [value, seen] = await look();
    found = value;
    return seen;
  });
  return [found, result];
};
