// The SDK judges a request's envelope before any handler of ours, in words of its own that may quote the request. What it
// refuses is said here once more: for a tool call with the issues of every other malformed call, for another revision
// with what to do next. Implements MGT-11, MGT-61 and MGT-140 to MGT-143.

import * as CallShape from "./CallShape.ts";
import { catalogListenersMax } from "./Limits.ts";
import { codes, invalidParams, type McpError } from "./McpError.ts";
import * as Revision from "./Revision.ts";

type Json = Readonly<Record<string, unknown>>;

/** What the SDK answers when it is closed in the middle of a call. A client that left is not there to read it. */
const connectionClosed = 499;
export const stopping = { code: codes.refused, message: "The endpoint is stopping." };

/** The answer of the SDK for a defect outside of every handler. */
const brokeOff = 500;

const headersDisagree = {
  code: codes.headerMismatch,
  message:
    "The request's headers and body disagree: MCP-Protocol-Version, Mcp-Method and, for a tool call, Mcp-Name must be there " +
    "and say what the body says.",
};

interface Answer {
  readonly status: number;
  readonly error: object;
}

const methodOf = (message: unknown): unknown => (CallShape.isObject(message) ? message.method : undefined);

const idOf = (message: unknown): string | number | null => {
  const id = CallShape.isObject(message) ? message.id : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
};

const envelopeIssue = { path: ["_meta"], message: "expected the envelope of the protocol's schema" };

const asError = ({ code, message, data }: McpError): object => ({ code, message, data });

/** Every place where a tool call is off, or null where it is the JSON-RPC message around it that is. */
const callIssuesOf = ({ params }: Json): McpError | null => {
  const shape = CallShape.read(params);
  const issues = [
    ...(shape.ok ? [] : shape.issues),
    ...(CallShape.isObject(params) ? CallShape.metaIssuesOf(params) : []),
  ];
  return issues.length === 0 ? null : invalidParams(issues, "The call does not have the expected shape.");
};

/** Any other request that the SDK found malformed: what it says of that names what was submitted, in its own terms. */
const malformedRequest = (status: number, { params }: Json, code: number): Answer | null => {
  const found = CallShape.isObject(params) ? CallShape.metaIssuesOf(params) : [];
  if (found.length === 0 && code !== codes.invalidParams) return null;
  const issues = found.length > 0 ? found : [envelopeIssue];
  return { status, error: asError(invalidParams(issues, "The request does not have the expected shape.")) };
};

/** The request that the SDK found malformed, when it is a tool call. */
const malformedCall = (status: number, message: Json, code: number): Answer | null => {
  const found = callIssuesOf(message);
  if (found !== null) return { status, error: asError(found) };
  if (code !== codes.invalidParams) return null;
  return {
    status,
    error: asError(invalidParams([envelopeIssue], "The call does not have the expected shape.")),
  };
};

/** What a `subscriptions/listen` is refused for. */
const refusedListener = (status: number, code: unknown): Answer | null => {
  if (code === codes.internalError) {
    const message = `There are ${catalogListenersMax} listeners already. Close one, or ask tools/list when it matters.`;
    const data = { limit: "subscriptions", max: catalogListenersMax };
    return { status, error: { code: codes.eventResourceExhausted, message, data } };
  }
  if (code !== codes.invalidParams || status !== 200) return null;
  const issue = { path: ["notifications"], message: "expected an object of the notifications to listen for" };
  return { status, error: asError(invalidParams([issue], "The request does not have the expected shape.")) };
};

/** The SDK takes a list's parameters for its own, and what they lack for a defect. */
const hasStrayCursor = (message: unknown): boolean => {
  if (!CallShape.isObject(message) || message.method !== "tools/list") return false;
  const { params } = message;
  return CallShape.isObject(params) && params.cursor !== undefined && typeof params.cursor !== "string";
};

const retold = (status: number, error: Json, message: unknown): Answer | null => {
  const method = methodOf(message);
  if (method === "initialize" && error.code !== codes.invalidRequest) {
    if (error.code === codes.methodNotFound) return { status, error: Revision.unknownHandshake };
    const params = (message as Json).params;
    const requested = CallShape.isObject(params) ? params.protocolVersion : undefined;
    return { status: 400, error: Revision.unsupported(requested) };
  }
  if (hasStrayCursor(message)) {
    const issue = { path: ["cursor"], message: "expected a string, or none" };
    return {
      status,
      error: asError(invalidParams([issue], "The request does not have the expected shape.")),
    };
  }
  const listener = method === "subscriptions/listen" ? refusedListener(status, error.code) : null;
  if (listener !== null) return listener;
  switch (error.code) {
    case codes.unsupportedProtocolVersion: {
      const { data } = error;
      return { status, error: Revision.unsupported(CallShape.isObject(data) ? data.requested : undefined) };
    }
    case codes.headerMismatch:
      return { status, error: headersDisagree };
    case codes.invalidParams:
    case codes.invalidRequest:
      if (!CallShape.isObject(message) || idOf(message) === null) return null;
      if (method === "tools/call") return malformedCall(status, message, error.code);
      return malformedRequest(status, message, error.code);
  }
  return null;
};

/** Whether there may be a refusal of the SDK's in it; our own answers, which may be long, are not read again. */
const mayBeRetold = ({ status, headers }: Response, message: unknown): boolean =>
  status === 400 ||
  status === 404 ||
  hasStrayCursor(message) ||
  (methodOf(message) === "subscriptions/listen" && headers.get("content-type") !== "text/event-stream");

const say = (message: unknown, { status, error }: Answer): Response =>
  Response.json({ jsonrpc: "2.0", id: idOf(message), error }, { status });

/** The answer to a request that is not begun any more. */
export const stopped = (message: unknown): Response => say(message, { status: 503, error: stopping });

/** The response as it is, unless it is a refusal of the SDK's that is told in our words. */
export const explain = async (
  message: unknown,
  response: Response,
  defect: () => McpError,
): Promise<Response> => {
  if (response.status === connectionClosed) return stopped(message);
  if (response.status === brokeOff) return say(message, { status: 200, error: asError(defect()) });
  if (!mayBeRetold(response, message)) return response;
  const { error } = (await response.clone().json()) as { readonly error?: Json };
  const answer = error === undefined ? null : retold(response.status, error, message);
  return answer === null ? response : say(message, answer);
};
