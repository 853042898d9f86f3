// One signed POST to a callback: the draft's headers, a fresh timestamp and signature over the given bytes, and what came of
// it. Decides nothing about what follows. Implements ING-93.

import type { CallbackAnswer, CallbackClient } from "../callbacks/CallbackClient.ts";
import * as StandardWebhook from "../callbacks/StandardWebhook.ts";
import type { AttemptRow } from "./Attempts.ts";
import * as Outcome from "./Outcome.ts";
import type { Target } from "./Registration.ts";

export interface PostingOptions {
  readonly client: CallbackClient;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

export interface Posted {
  readonly answer: CallbackAnswer;
  readonly attempt: AttemptRow;
}

const keyOf = (secret: string): StandardWebhook.WebhookSecret => {
  const key = StandardWebhook.parseSecret(secret);
  if (key === null) throw new Error("the stored secret of the webhook is damaged");
  return key;
};

/** The client was closed, or the caller has given up: nobody heard what came of it. */
const lost: CallbackAnswer = { kind: "failed", category: "connection-lost" };

export const post = async (
  { client, clock }: PostingOptions,
  purpose: AttemptRow["purpose"],
  { url, secret, subscriptionId }: Target,
  { id, body }: { readonly id: string; readonly body: Uint8Array },
  signal: AbortSignal,
): Promise<Posted> => {
  const at = clock();
  const seconds = Math.floor(at / 1_000);
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": StandardWebhook.sign(keyOf(secret), id, seconds, body),
    "X-MCP-Subscription-Id": subscriptionId,
  };
  const answer = await client.post({ url, headers, body }, signal).catch(() => lost);
  return {
    answer,
    attempt: {
      at,
      purpose,
      category: Outcome.categoryOf(answer),
      status: answer.kind === "answered" ? answer.status : null,
      eventId: purpose === "delivery" ? id : null,
      durationMs: Math.max(0, clock() - at),
    },
  };
};
