// One `tools/call`, from its raw parameters to its result: the envelope, the catalog, the tool, and what is said of a
// failure. Implements MGT-04, MGT-60 to MGT-64 and MGT-73.

import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import type { Logger } from "@social-harness/router/Logger";
import type { OperationError, OperationName } from "../operations/OperationError.ts";
import type { Operations } from "../operations/Operations.ts";
import { causeOf } from "../state/Log.ts";
import type { Caller } from "./Caller.ts";
import * as Catalog from "./Catalog.ts";
import * as Failures from "./Failures.ts";
import { invalidParams, McpError } from "./McpError.ts";
import type { Tool } from "./Tool.ts";

export interface CallOptions {
  readonly operations: Operations;
  readonly logger: Logger;
  readonly random: (byteCount: number) => Uint8Array;
}

export interface CallResult {
  readonly [key: string]: unknown;
  readonly content: ReadonlyArray<{ readonly type: "text"; readonly text: string }>;
  readonly structuredContent: object;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const envelope = "The call does not have the expected shape.";

/** The named tool of the caller's catalog as it is now. Any other tool is as unknown as one that never was. */
const toolOf = (params: unknown, caller: Caller, isRegistered: boolean): Tool => {
  const name = isObject(params) ? params.name : undefined;
  if (typeof name !== "string") {
    throw invalidParams([{ path: ["name"], message: "expected the name of a tool" }], envelope);
  }
  const tool = Catalog.toolsOf(caller, isRegistered).find(({ face }) => face.name === name);
  if (tool !== undefined) return tool;
  throw invalidParams(
    [{ path: ["name"], message: "expected a tool of the current catalog" }],
    "Unknown tool.",
  );
};

/** Absent arguments are none, as the protocol says. */
const argumentsOf = (params: unknown): unknown => {
  const args = isObject(params) && Object.hasOwn(params, "arguments") ? params.arguments : {};
  if (isObject(args)) return args;
  throw invalidParams([{ path: ["arguments"], message: "expected an object" }], envelope);
};

const failureOf = (name: OperationName, error: unknown, { logger, random }: CallOptions): McpError => {
  if (error instanceof McpError) return error;
  const expected = Failures.errorOf(name, error);
  if (expected !== null) {
    const { reason, message } = error as OperationError;
    logger("info", "a tool call failed", { tool: name, reason, message });
    return expected;
  }
  // The caller learns nothing of a defect; the id finds it in the log when its time is known.
  const correlationId = Base64Url.encode(random(16));
  logger("error", "a tool call failed unexpectedly", { tool: name, correlationId, ...causeOf(error) });
  return Failures.internal();
};

/** Rejects with an `McpError` and with nothing else. */
export const call = async (params: unknown, caller: Caller, options: CallOptions): Promise<CallResult> => {
  const tool = toolOf(params, caller, options.operations.isRegistered());
  const args = argumentsOf(params);
  try {
    const structuredContent = await tool.call(options.operations, args);
    const text = JSON.stringify(structuredContent);
    return { content: [{ type: "text", text }], structuredContent };
  } catch (error) {
    throw failureOf(tool.face.name, error, options);
  }
};
