// Whether a callback is who the subscriber says it is: a signed challenge that must come back. What has passed is remembered
// for ten minutes, for one principal, URL and secret, and in memory alone. Implements ING-89, ING-90 and ING-109.

import { createHash, timingSafeEqual } from "node:crypto";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import type { CallbackAnswer } from "../callbacks/CallbackClient.ts";
import type { DeliveryError } from "../operations/EventSubscription.ts";
import type { AttemptRow } from "./Attempts.ts";
import * as Limits from "./Limits.ts";
import * as Outcome from "./Outcome.ts";
import * as Posting from "./Posting.ts";
import type { Target } from "./Registration.ts";

export interface VerificationOptions extends Posting.PostingOptions {
  readonly random: (byteCount: number) => Uint8Array;
}

export interface Verified {
  /** Null when the challenge came back. */
  readonly error: DeliveryError | null;
  readonly attempt: AttemptRow;
}

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Digests are compared: the time that it takes tells nothing of how much was right. */
const echoes = (answer: CallbackAnswer, challenge: string): boolean => {
  if (answer.kind !== "answered") return false;
  try {
    const body: unknown = JSON.parse(Buffer.from(answer.body).toString("utf8"));
    const echo = typeof body === "object" && body !== null && "challenge" in body ? body.challenge : null;
    return typeof echo === "string" && timingSafeEqual(digestOf(echo), digestOf(challenge));
  } catch {
    return false;
  }
};

/** One challenge, used once. */
export const challenge = async (
  options: VerificationOptions,
  purpose: "challenge" | "test",
  target: Target,
  signal: AbortSignal,
): Promise<Verified> => {
  const nonce = Base64Url.encode(options.random(32));
  const id = `msg_verification_${Base64Url.encode(options.random(16))}`;
  const body = Buffer.from(JSON.stringify({ type: "verification", challenge: nonce }), "utf8");
  const { answer, attempt } = await Posting.post(options, purpose, target, { id, body }, signal);
  const outcome = Outcome.of(answer);
  if (outcome.kind !== "received") return { error: outcome.error, attempt };
  if (echoes(answer, nonce)) return { error: null, attempt };
  return { error: "challenge_failed", attempt: { ...attempt, category: "challenge-failed" } };
};

/** What has been verified lately. A key names principal and URL; the secret is kept as its digest. */
export interface Verifications {
  readonly has: (target: Target) => boolean;
  readonly remember: (target: Target) => void;
  /** Takes one of the minute's challenges; false when all have been made. */
  readonly mayChallenge: () => boolean;
}

export const createVerifications = (clock: () => number): Verifications => {
  const passed = new Map<string, number>();
  let challenges: ReadonlyArray<number> = [];
  const keyOf = ({ subscriptionId, secret }: Target): string =>
    `${subscriptionId} ${digestOf(secret).toString("base64url")}`;
  const within = (since: number, spanMs: number): boolean => {
    const age = clock() - since;
    return age >= 0 && age < spanMs;
  };
  return {
    has: (target) => {
      const at = passed.get(keyOf(target));
      return at !== undefined && within(at, Limits.verificationMsMax);
    },
    remember: (target) => {
      passed.delete(keyOf(target));
      passed.set(keyOf(target), clock());
      const [oldest] = passed.keys();
      if (passed.size > Limits.verificationsMax && oldest !== undefined) passed.delete(oldest);
    },
    mayChallenge: () => {
      challenges = challenges.filter((at) => within(at, Limits.challengeWindowMs));
      if (challenges.length >= Limits.challengesPerMinuteMax) return false;
      challenges = [...challenges, clock()];
      return true;
    },
  };
};
