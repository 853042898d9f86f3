// Whether a callback is who the subscriber says it is: a signed challenge that must come back. What has passed is remembered
// for ten minutes, for one principal, URL and secret, and in memory alone. Implements ING-89, ING-90, ING-109, ING-208 and ING-263.

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

/**
 * What has been verified lately. A subscription's id stands for principal and URL, and the secret that passed last is kept as its
 * digest: with another one that passes, what was replaced counts no longer.
 */
export interface Verifications {
  readonly has: (target: Target) => boolean;
  readonly remember: (target: Target) => void;
  /** Takes one of the minute's challenges; false when all have been made. */
  readonly mayChallenge: () => boolean;
}

const nameOf = (secret: string): string => digestOf(secret).toString("base64url");

export const createVerifications = (clock: () => number): Verifications => {
  const passed = new Map<string, { readonly secret: string; readonly at: number }>();
  let challenges: ReadonlyArray<number> = [];
  const within = (since: number, spanMs: number): boolean => {
    const age = clock() - since;
    return age >= 0 && age < spanMs;
  };
  return {
    has: ({ subscriptionId, secret }) => {
      const last = passed.get(subscriptionId);
      return last?.secret === nameOf(secret) && within(last.at, Limits.verificationMsMax);
    },
    remember: ({ subscriptionId, secret }) => {
      passed.delete(subscriptionId);
      passed.set(subscriptionId, { secret: nameOf(secret), at: clock() });
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
