// The Events draft on this endpoint: one event, pushed on one stream, to whoever reads the inbox; the runtime credential
// does not, and gets neither. No event goes to a webhook, so a subscription is refused. Frames and errors have the draft's
// shapes; the SDK carries them. Implements ING-40 to ING-48 and MGT-74.

import { SUBSCRIPTION_ID_META_KEY, type Server, type ServerContext } from "@modelcontextprotocol/server";
import * as Schema from "effect/Schema";
import type { Caller } from "./Caller.ts";
import type { Outlet } from "./Exchange.ts";
import * as JsonSchema from "./JsonSchema.ts";
import { codes, McpError } from "./McpError.ts";
import * as PendingStream from "./PendingStream.ts";
import * as Tool from "./Tool.ts";

/** The SDK's own check of parameters knows no issues: it is given nothing to object to, and ours follows. */
const raw = {
  "~standard": { version: 1 as const, vendor: "social-harness", validate: (value: unknown) => ({ value }) },
};

const pendingEvent = {
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
    arguments: Schema.optionalKey(
      Schema.Record(
        Schema.String,
        Schema.Never.annotate({ message: "is not expected here: there are no arguments" }),
      ),
    ),
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

const checkName = (params: unknown): void => {
  const name = Tool.names(params, "name") ? (params as { readonly name: unknown }).name : undefined;
  if (typeof name === "string" && name !== PendingStream.eventName) {
    throw new McpError(codes.eventNotFound, "Unknown event.", { kind: "event" });
  }
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

const refuseWebhook = (): never => {
  throw new McpError(codes.eventUnsupported, "No event is delivered to a webhook here.", {
    feature: "deliveryMode",
  });
};

/** The event tells to call `read_inbox`, so it is for those who can. */
const hasStream = ({ kind }: Caller): boolean => kind !== "runtime";

/** Installs the draft's methods on the server of one request. */
export const install = (
  server: Server,
  caller: Caller,
  stream: PendingStream.PendingStream,
  outlet: Outlet,
): void => {
  server.setRequestHandler("events/list", { params: raw }, (params) => {
    decodeList(withoutMeta(params));
    return { events: hasStream(caller) ? [pendingEvent] : [] };
  });
  server.setRequestHandler("events/stream", { params: raw }, async (params, ctx) => {
    if (!hasStream(caller)) {
      throw new McpError(codes.eventUnsupported, "The runtime credential has no stream.", {
        feature: "stream",
      });
    }
    const asked = withoutMeta(params);
    checkName(asked);
    decodeStream(asked);
    await stream.attach(readerOf(ctx, outlet));
    return { _meta: { [SUBSCRIPTION_ID_META_KEY]: ctx.mcpReq.id } };
  });
  server.setRequestHandler("events/subscribe", { params: raw }, refuseWebhook);
  server.setRequestHandler("events/unsubscribe", { params: raw }, refuseWebhook);
};
