// A store with webhooks and nobody registered, and a receiver that passes every challenge, takes every delivery and keeps both.

import type { SubscribeInput } from "../../src/operations/EventSubscription.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";
import {
  answered,
  type BenchOptions,
  createBench,
  receiver,
  type Request,
  secretOf,
  urlOf,
  type WebhookBench,
} from "./WebhookBench.ts";

export const url = urlOf("https://receiver.example/hook");
export const elsewhere = urlOf("https://elsewhere.example/hook");
const secret = secretOf("one");
export const input: SubscribeInput = { url, secret, ttlMs: null };

export const make = (options: BenchOptions = {}): WebhookBench => {
  const db = temporaryStore();
  db.run("PRAGMA synchronous = OFF");
  return createBench(() => db, options);
};

/** Counts the challenges that a receiver is sent, and passes them all. */
export const counting = (bench: WebhookBench): { challenges: Array<Request>; deliveries: Array<Request> } => {
  const seen = { challenges: [] as Array<Request>, deliveries: [] as Array<Request> };
  const answer = receiver((request) => (seen.deliveries.push(request), answered(200)));
  bench.post = (request, signal) => {
    if (request.headers["webhook-id"]?.startsWith("msg_") === true) seen.challenges.push(request);
    return answer(request, signal);
  };
  return seen;
};
