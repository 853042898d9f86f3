// A registered webhook whose receiver answers by a script and remembers each delivery that it was sent.

import { expect } from "vitest";
import type { CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";
import {
  answered,
  createBench,
  receiver,
  type Request,
  secretOf,
  urlOf,
  type WebhookBench,
} from "./WebhookBench.ts";

export const url = urlOf("https://receiver.example/hook");
export const secret = secretOf("one");

export interface Scripted {
  readonly bench: WebhookBench;
  /** Every delivery, challenges aside. */
  readonly got: Array<Request>;
  /** What the next ones are answered with; the last one goes on. */
  answers: ReadonlyArray<CallbackAnswer>;
}

export const scripted = async (
  answers: Scripted["answers"] = [answered(200)],
  db = temporaryStore(),
): Promise<Scripted> => {
  // What is lost in a power cut is not the question here.
  db.run("PRAGMA synchronous = OFF");
  const script: Scripted = { bench: createBench(() => db), got: [], answers };
  script.bench.post = receiver((request) => {
    script.got.push(request);
    const [first, ...rest] = script.answers;
    if (rest.length > 0) script.answers = rest;
    return first as CallbackAnswer;
  });
  const result = await script.bench.webhooks.subscribe("runtime", { url, secret, ttlMs: null });
  expect(result.kind).toBe("subscribed");
  return script;
};

/** The event ids of deliveries. */
export const idsOf = (got: ReadonlyArray<Request>): ReadonlyArray<string | undefined> =>
  got.map(({ headers }) => headers["webhook-id"]);
