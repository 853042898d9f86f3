// The Events draft on this endpoint: one event that is pushed on a stream, to whoever reads the inbox, and in credentials mode
// one that is delivered to a webhook. Either has the endpoint to itself. Frames and errors have the draft's shapes; the SDK
// carries them. Implements ING-40 to ING-48, ING-85, ING-98 and MGT-74.

import { SUBSCRIPTION_ID_META_KEY, type Server, type ServerContext } from "@modelcontextprotocol/server";
import * as Schema from "effect/Schema";
import type { EventConsumers } from "../operations/EventSubscription.ts";
import type { Caller } from "./Caller.ts";
import * as Defect from "./Defect.ts";
import type { Outlet } from "./Exchange.ts";
import * as JsonSchema from "./JsonSchema.ts";
import { codes, McpError } from "./McpError.ts";
import * as PendingStream from "./PendingStream.ts";
import * as Subscriptions from "./Subscriptions.ts";
import * as Tool from "./Tool.ts";

/** The SDK's own check of parameters knows no issues: it is given nothing to object to, and ours follows. */
const raw = {
  "~standard": { version: 1 as const, vendor: "social-harness", validate: (value: unknown) => ({ value }) },
};

const pendingEvent: EventDescription = {
  name: PendingStream.eventName,
  description:
    "The number of unacknowledged inbox items, when the stream opens and whenever it rises. Carries no message: " +
    "call read_inbox. Its event id (occ_...) names no item.",
  delivery: ["push"],
  inputSchema: JsonSchema.object({}),
  payloadSchema: JsonSchema.object(
    { pendingCount: { type: "integer", minimum: 1, description: "Unacknowledged items." } },
    ["pendingCount"],
  ),
};

const decodeStream = Tool.exactly(
  Schema.Struct({
    name: Schema.String,
    arguments: Schema.optionalKey(Tool.noArguments),
    // The event has no replay, so there is no cursor but null, and no age to bound.
    cursor: Schema.optionalKey(Schema.Null),
    maxAgeMs: Schema.optionalKey(Schema.NullOr(Schema.Number)),
  }),
);
const decodeList = Tool.exactly(Schema.Struct({ cursor: Schema.optionalKey(Schema.Null) }));

/** What the draft's own parameters are: the protocol's `_meta` is the SDK's business. */
const withoutMeta = (params: unknown): unknown => {
  if (typeof params !== "object" || params === null || Array.isArray(params)) return params ?? {};
  const { _meta, ...rest } = params as Readonly<Record<string, unknown>>;
  return rest;
};

/** Throws unless the event that is asked for, where a name stands, is delivered in this way to this caller. */
const checkName = (params: unknown, mode: "push" | "webhook", caller: Caller): void => {
  const name = Tool.names(params, "name") ? (params as { readonly name: unknown }).name : undefined;
  if (typeof name !== "string") return;
  const event = offeredTo(caller).find((offered) => offered.name === name);
  if (event === undefined) throw new McpError(codes.eventNotFound, "Unknown event.", { kind: "event" });
  if (!event.delivery.includes(mode)) throw unsupportedMode("The event is not delivered in this way.");
};

const readerOf = (ctx: ServerContext, outlet: Outlet): PendingStream.Reader => ({
  send: (method, params) =>
    ctx.mcpReq.notify({
      method,
      params: { ...params, _meta: { [SUBSCRIPTION_ID_META_KEY]: ctx.mcpReq.id } },
    }),
  ready: outlet.ready,
  gone: ctx.mcpReq.signal,
});

/** Where no credential tells principals apart, nobody is there to whom a subscription could belong. */
const hasWebhook = ({ mode }: Caller): boolean => mode === "credentials";

/** The event tells to call `read_inbox`, so it is for those who can. */
const hasStream = ({ kind }: Caller): boolean => kind !== "runtime";

interface EventDescription {
  readonly [key: string]: unknown;
  readonly name: string;
  readonly delivery: ReadonlyArray<"push" | "webhook">;
}

const offeredTo = (caller: Caller): ReadonlyArray<EventDescription> => [
  ...(hasStream(caller) ? [pendingEvent] : []),
  ...(hasWebhook(caller) ? [Subscriptions.itemEvent] : []),
];

const unsupportedMode = (message: string): McpError =>
  new McpError(codes.eventUnsupported, message, { feature: "deliveryMode" });

const checkWebhook = (caller: Caller, params: unknown): void => {
  if (!hasWebhook(caller)) throw unsupportedMode("No event is delivered to a webhook in this mode.");
  checkName(params, "webhook", caller);
};

export interface EventsOptions {
  readonly stream: PendingStream.PendingStream;
  readonly consumers: EventConsumers;
  readonly witness: Defect.Witness;
}

/** Installs the draft's methods on the server of one request. */
export const install = (
  server: Server,
  caller: Caller,
  { stream, consumers, witness }: EventsOptions,
  outlet: Outlet,
): void => {
  server.setRequestHandler("events/list", { params: raw }, (params) => {
    decodeList(withoutMeta(params));
    return { events: [...offeredTo(caller)] };
  });
  server.setRequestHandler("events/stream", { params: raw }, async (params, ctx) => {
    if (!hasStream(caller)) {
      throw new McpError(codes.eventUnsupported, "The runtime credential has no stream.", {
        feature: "stream",
      });
    }
    const asked = withoutMeta(params);
    checkName(asked, "push", caller);
    decodeStream(asked);
    if (Subscriptions.asked(consumers.isConsumedByWebhook)) {
      throw new McpError(codes.eventResourceExhausted, "A webhook receives this endpoint's events.", {
        limit: "consumers",
        max: 1,
      });
    }
    await stream.attach(readerOf(ctx, outlet));
    return { _meta: { [SUBSCRIPTION_ID_META_KEY]: ctx.mcpReq.id } };
  });
  const onWebhook = (
    event: string,
    handle: (principal: string, params: unknown, consumers: EventConsumers) => Promise<object>,
  ) =>
    Defect.guarded(event, witness, async (params: unknown) => {
      const asked = withoutMeta(params);
      checkWebhook(caller, asked);
      return { ...(await handle(caller.kind, asked, consumers)) };
    });
  const subscribe = onWebhook("a subscription failed unexpectedly", Subscriptions.subscribe);
  const unsubscribe = onWebhook("an unsubscription failed unexpectedly", Subscriptions.unsubscribe);
  server.setRequestHandler("events/subscribe", { params: raw }, (params) => subscribe(params));
  server.setRequestHandler("events/unsubscribe", { params: raw }, (params) => unsubscribe(params));
};
