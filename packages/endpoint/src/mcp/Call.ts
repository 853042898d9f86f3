// One `tools/call`, from its raw parameters to its result: the envelope, the catalog, the tool, and what is said of a
// failure. Implements MGT-04, MGT-60 to MGT-64 and MGT-73.

import type { Tracer } from "@social-harness/router/Tracer";
import type { OperationError, OperationName } from "../operations/OperationError.ts";
import type { Operations } from "../operations/Operations.ts";
import type { Caller } from "./Caller.ts";
import * as CallShape from "./CallShape.ts";
import * as Catalog from "./Catalog.ts";
import * as Defect from "./Defect.ts";
import * as Failures from "./Failures.ts";
import { invalidParams, McpError } from "./McpError.ts";
import type { Tool } from "./Tool.ts";

export interface CallOptions extends Defect.Witness {
  readonly operations: Operations;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Told of each call of a known tool, where there is one. */
  readonly tracer?: Tracer;
}

export interface Asker {
  readonly caller: Caller;
  /** Aborts when the caller has left. */
  readonly gone: AbortSignal;
}

export interface CallResult {
  readonly [key: string]: unknown;
  readonly content: ReadonlyArray<{ readonly type: "text"; readonly text: string }>;
  readonly structuredContent: object;
}

/** The named tool of the caller's catalog as it is now. Any other tool is as unknown as one that never was. */
const toolOf = (name: string, caller: Caller, { isRegistered, holdTools }: Operations): Tool => {
  const tools = Catalog.toolsOf(caller, isRegistered(), holdTools());
  const tool = tools.find(({ face }) => face.name === name);
  if (tool !== undefined) return tool;
  const names = tools.map(({ face }) => face.name).join(", ");
  const expected = names === "" ? "there is no tool for you" : `expected one of your tools: ${names}`;
  const why = isRegistered() ? "" : " before this endpoint's agent is registered";
  throw invalidParams([{ path: ["name"], message: `${expected}${why}` }], "Unknown tool.");
};

const unexpectedly = "a tool call failed unexpectedly";

const failureOf = (name: OperationName, error: unknown, options: CallOptions): McpError => {
  if (McpError.is(error)) return error;
  const expected = Failures.errorOf(name, error);
  if (expected === null) return Defect.report(unexpectedly, error, options, name);
  const { reason, message } = error as OperationError;
  options.logger("info", "a tool call failed", { tool: name, reason, message });
  return expected;
};

/** Takes the time from now on; null where nobody wants to know. */
const traceOf = (tool: OperationName, { kind: caller }: Caller, { clock, tracer }: CallOptions) => {
  if (tracer === undefined) return null;
  const startedAt = clock();
  return (failed: string | null, result: object): void =>
    tracer({
      name: `tools/call ${tool}`,
      startedAt,
      endedAt: clock(),
      failed,
      attributes: { "mcp.caller": caller },
      ...("postId" in result ? { postId: String(result.postId) } : {}),
    });
};

const perform = async (
  { name, arguments: args }: CallShape.Call,
  { caller, gone }: Asker,
  options: CallOptions,
): Promise<CallResult> => {
  const tool = toolOf(name, caller, options.operations);
  const over = traceOf(tool.face.name, caller, options);
  try {
    const structuredContent = await tool.call(options.operations, args, gone);
    const text = JSON.stringify(structuredContent);
    over?.(null, structuredContent);
    return { content: [{ type: "text", text }], structuredContent };
  } catch (error) {
    // What ends because its reader has left is no defect, and there is nobody to tell.
    const isLeft = gone.aborted && error === gone.reason;
    const failure = isLeft ? Failures.internal() : failureOf(tool.face.name, error, options);
    over?.(isLeft ? "caller-left" : String(failure.code), {});
    throw failure;
  }
};

/** Rejects with an `McpError` and with nothing else. */
export const call = async (params: unknown, asker: Asker, options: CallOptions): Promise<CallResult> => {
  const shape = CallShape.read(params);
  if (!shape.ok) throw invalidParams(shape.issues, "The call does not have the expected shape.");
  return Defect.guarded(unexpectedly, options, perform)(shape.call, asker, options);
};
