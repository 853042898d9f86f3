// The SDK judges a request's JSON-RPC envelope before any handler of ours, in words of its own. For a tool call such a
// verdict becomes what every other malformed call is answered with. Implements MGT-61.

import { codes } from "./McpError.ts";

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

/** The response as it is, unless it refuses a tool call's envelope. */
export const explain = async (message: unknown, response: Response): Promise<Response> => {
  if (response.status !== 400 || !isToolCall(message)) return response;
  const answer = (await response.clone().json()) as { readonly error?: { readonly code: number } };
  const code = answer.error?.code;
  if (code !== codes.invalidParams && code !== codes.invalidRequest) return response;
  const error = {
    code: codes.invalidParams,
    message: "The call does not have the expected shape.",
    data: { issues: [issueOf(message)] },
  };
  return Response.json({ jsonrpc: "2.0", id: message.id, error }, { status: 400 });
};
