// An endpoint in credentials mode whose callbacks end in the test, and what its runtime asks it over the wire.

import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect } from "vitest";
import type { CallbackClient } from "../../src/callbacks/CallbackClient.ts";
import { answered, receiver, type Request, secretOf } from "../webhooks/WebhookBench.ts";
import * as RawHttp from "./RawHttp.ts";
import { runtimeToken, startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";

const endpoints: Array<TestEndpoint> = [];
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});

export interface Served {
  readonly endpoint: TestEndpoint;
  readonly deliveries: Array<Request>;
  post: CallbackClient["post"];
}

export const serve = async (options: Parameters<typeof startEndpoint>[0] = {}): Promise<Served> => {
  const deliveries: Array<Request> = [];
  const callbacks: CallbackClient = {
    post: (request, signal) => served.post(request, signal),
    close: async () => {},
  };
  const endpoint = await startEndpoint({ mode: "credentials", callbacks, ...options });
  endpoints.push(endpoint);
  const served: Served = {
    endpoint,
    deliveries,
    post: receiver((request) => (deliveries.push(request), answered(200))),
  };
  return served;
};

export const name = "org.social-harness/inbox.item";
export const url = "https://receiver.example/hook?with=a-secret-part";
export const secret = secretOf("one");
export const delivery = { mode: "webhook", url, secret };
export const good = { name, arguments: {}, delivery };

export const ask = async (
  { endpoint }: Served,
  method: string,
  params: Readonly<Record<string, unknown>>,
  token = runtimeToken,
) => (await RawHttp.rpc(endpoint.port, method, params, token)).body;
export const subscribe = (served: Served, params: Readonly<Record<string, unknown>> = good, token?: string) =>
  ask(served, "events/subscribe", params, token);

export const until = async (holds: () => boolean): Promise<void> => {
  for (let i = 0; i < 500 && !holds(); i++) await sleep(10);
  expect(holds()).toBe(true);
};
