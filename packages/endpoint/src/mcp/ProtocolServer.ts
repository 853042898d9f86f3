// The SDK's protocol server for one request: the caller's catalog as it is at that moment, tool calls, and the Events
// draft. Holds nothing from one request to the next. Implements MGT-03, MGT-05 and MGT-72.

import { type McpServerFactory, Server } from "@modelcontextprotocol/server";
import type { EventConsumers } from "../operations/EventSubscription.ts";
import type { Operations } from "../operations/Operations.ts";
import type { Asker, CallResult } from "./Call.ts";
import type { Caller } from "./Caller.ts";
import * as Catalog from "./Catalog.ts";
import * as Defect from "./Defect.ts";
import * as Events from "./Events.ts";
import type { Exchanges } from "./Exchange.ts";
import * as Instructions from "./Instructions.ts";
import type { PendingStream } from "./PendingStream.ts";

export interface ProtocolServerOptions {
  readonly version: string;
  readonly operations: Operations;
  readonly stream: PendingStream;
  readonly consumers: EventConsumers;
  readonly outletOf: Exchanges["outletOf"];
  /** One `tools/call`, given its raw parameters. */
  readonly call: (params: unknown, asker: Asker) => Promise<CallResult>;
  readonly witness: Defect.Witness;
}

/** `tools` before registration too: a listener is honoured only for what is declared when it begins to listen. */
const capabilities = { tools: { listChanged: true }, events: {} };

/** The validator is for elicitations, which this server never makes; without it the SDK builds one a request. */
const jsonSchemaValidator = {
  getValidator: () => () => ({
    valid: false as const,
    data: undefined,
    errorMessage: "no elicitation was made",
  }),
};

/** Whoever lists or calls hears of a defect in this; the words are for who has not come so far. */
const instructionsFor = (caller: Caller, operations: Operations): string => {
  try {
    return Instructions.of(caller, operations.isRegistered());
  } catch {
    return Instructions.of(caller, false);
  }
};

export const factory =
  (
    { version, operations, stream, consumers, outletOf, call, witness }: ProtocolServerOptions,
    caller: Caller,
  ): McpServerFactory =>
  ({ requestInfo }) => {
    const instructions = instructionsFor(caller, operations);
    const server = new Server(
      { name: "social-harness", version },
      { capabilities, instructions, jsonSchemaValidator },
    );
    const listTools = () => ({
      tools: Catalog.toolsOf(caller, operations.isRegistered(), operations.holdTools()).map(
        ({ face }) => face,
      ),
    });
    server.setRequestHandler(
      "tools/list",
      Defect.guarded("the catalog cannot be listed", witness, listTools),
    );
    const outlet = requestInfo === undefined ? undefined : outletOf(requestInfo);
    if (outlet !== undefined) Events.install(server, caller, { stream, consumers, witness }, outlet);
    // The SDK's own handler would judge the call's envelope before us, in words that name no place. As the fallback we
    // get the raw parameters; set for this method alone, or an unknown one would no longer be unknown.
    if (requestInfo?.headers.get("mcp-method") === "tools/call") {
      const asker: Asker = { caller, gone: requestInfo.signal };
      server.fallbackRequestHandler = ({ params }) => call(params, asker);
    }
    return server;
  };
