// The SDK judges a request's JSON-RPC envelope before any handler of ours, in words of its own. For a tool call such a
// verdict becomes what every other malformed call is answered with. Implements MGT-11 and MGT-61.

import { codes, invalidParams } from "./McpError.ts";

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isToolCall = (message: unknown): message is Json =>
  isObject(message) &&
  message.jsonrpc === "2.0" &&
  message.method === "tools/call" &&
  (typeof message.id === "string" || typeof message.id === "number");

const issueOf = ({ params }: Json) =>
  isObject(params)
    ? { path: ["_meta"], message: "expected the request's protocol version and client capabilities" }
    : { path: [], message: "expected an object of parameters" };

/** What the SDK answers when it is closed in the middle of a call. A client that left is not there to read it. */
const connectionClosed = 499;
export const stopping = { code: codes.refused, message: "The endpoint is stopping." };

const idOf = (message: unknown): unknown => (isObject(message) ? (message.id ?? null) : null);

/** The response as it is, unless it refuses a tool call's envelope or says that the handler was closed. */
export const explain = async (message: unknown, response: Response): Promise<Response> => {
  const answer = (status: number, error: object): Response =>
    Response.json({ jsonrpc: "2.0", id: idOf(message), error }, { status });
  if (response.status === connectionClosed) return answer(503, stopping);
  if (response.status !== 400 || !isToolCall(message)) return response;
  const { error } = (await response.clone().json()) as { readonly error?: { readonly code: number } };
  if (error?.code !== codes.invalidParams && error?.code !== codes.invalidRequest) return response;
  const {
    code,
    message: words,
    data,
  } = invalidParams([issueOf(message)], "The call does not have the expected shape.");
  return answer(400, { code, message: words, data });
};
