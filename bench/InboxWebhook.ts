// The webhook of an inbox under measurement: the endpoint's own deliveries, to a receiver that answers when it is told to and
// needs no network.

import { randomBytes } from "node:crypto";
import type { CallbackAnswer, CallbackClient } from "@social-harness/endpoint/callbacks/CallbackClient";
import type { CallbackUrl } from "@social-harness/endpoint/callbacks/CallbackUrl";
import type { Database } from "@social-harness/endpoint/store/Database";
import * as Webhooks from "@social-harness/endpoint/webhooks/Webhooks";

export interface InboxWebhook {
  /** Receives the delivery that is under way; resolves with the milliseconds until the next one arrives. */
  readonly receive: () => Promise<number>;
  /** Receives what is under way, and nothing more. */
  readonly close: () => Promise<void>;
}

const answered = (body: Uint8Array = new Uint8Array()): CallbackAnswer => ({
  kind: "answered",
  status: 200,
  retryAfterMs: null,
  body,
});

/** Subscribes, and resolves when the first delivery is under way. Something must be unread. */
export const open = async (db: Database): Promise<InboxWebhook> => {
  let answer = (_: CallbackAnswer): void => undefined;
  let arrival = Promise.withResolvers<void>();
  const client: CallbackClient = {
    post: async ({ body }) => {
      const message = JSON.parse(Buffer.from(body).toString("utf8")) as { readonly challenge?: string };
      const { challenge } = message;
      if (challenge !== undefined) return answered(Buffer.from(JSON.stringify({ challenge })));
      const { promise, resolve } = Promise.withResolvers<CallbackAnswer>();
      answer = resolve;
      arrival.resolve();
      return promise;
    },
    close: async () => undefined,
  };
  const webhooks = Webhooks.create({
    db,
    client,
    scope: "bench",
    enabled: true,
    clock: Date.now,
    random: randomBytes,
    schedule: (delayMs, fire) => {
      const timer = setTimeout(fire, delayMs).unref();
      return () => clearTimeout(timer);
    },
    logger: () => undefined,
  });
  webhooks.start();
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const url = "https://receiver.example/hook" as CallbackUrl;
  await webhooks.subscribe("runtime", { url, secret, ttlMs: null });
  await arrival.promise;
  return {
    receive: async () => {
      arrival = Promise.withResolvers();
      const started = performance.now();
      answer(answered());
      await arrival.promise;
      return performance.now() - started;
    },
    close: async () => {
      const closed = webhooks.close();
      answer(answered());
      await closed;
    },
  };
};
