// The command line's side of a daemon: the official MCP client, typed calls of the tools, and one `Failure` for whatever
// goes wrong. What comes back is decoded here, once. Knows neither commands nor files. Implements RUN-12.

import {
  Client,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/client";
import * as EndedPost from "@social-harness/endpoint/operations/EndedPost";
import { StateError } from "@social-harness/endpoint/state/StateError";
import * as Trouble from "@social-harness/endpoint/transport/Trouble";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { failed, ofUnknown, unreachable, type Failure } from "../Failure.ts";
import { foreign, ofAbsentTool, ofEnded, ofReason, ofTrouble } from "./Explain.ts";
import { version } from "../Version.ts";
import * as ToolResults from "./ToolResults.ts";

const protocolVersion = "2026-07-28";
/** Longer than the longest tool: `register` has 30 s, `send_message` waits 20 s. */
const callMsMax = 60_000;
const connectMsMax = 10_000;

export interface DaemonClient {
  readonly call: <Name extends ToolResults.ToolName>(
    name: Name,
    input?: Readonly<Record<string, unknown>>,
  ) => Promise<ToolResults.ResultOf<Name>>;
  readonly close: () => Promise<void>;
}

const start = "Start it with `social-harness daemon`.";

const gone = (mcpUrl: string, cause: unknown): Failure =>
  cause instanceof SdkHttpError && cause.status === 503
    ? unreachable(
        "daemon-busy",
        `the daemon at ${mcpUrl} has no connection to spare, or is stopping`,
        "Try again in a second.",
        cause,
      )
    : unreachable("daemon-unreachable", `no daemon answers at ${mcpUrl}`, start, cause);

/** The client wraps what its transport throws; a token that cannot be read is the cause, whatever stands around it. */
const stateErrorOf = (error: unknown): StateError | null => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof StateError) return cause;
  }
  return null;
};

/** Of a call, or of finding out whether anybody is there, that did not end in an MCP error. */
const unanswered = (mcpUrl: string, error: unknown): Failure => {
  const stateError = stateErrorOf(error);
  if (stateError !== null) return ofUnknown(stateError);
  const isRefused = error instanceof SdkHttpError && error.status === 401;
  return isRefused ? foreign(mcpUrl, error) : gone(mcpUrl, error);
};

const otherVersion = (cause: unknown): Failure => {
  const { message, next } = ofReason("incompatible-daemon");
  return failed("incompatible-daemon", message, next, cause);
};

const fieldOf = (data: unknown, field: string): unknown =>
  typeof data === "object" && data !== null && field in data
    ? (data as Readonly<Record<string, unknown>>)[field]
    : undefined;

/** `path: message` of the first issue. Issues describe the expected shape and never repeat a value. */
const issueOf = (data: unknown): string | undefined => {
  const issues = fieldOf(data, "issues");
  const first: unknown = Array.isArray(issues) ? issues[0] : undefined;
  const message = fieldOf(first, "message");
  const path = fieldOf(first, "path");
  if (typeof message !== "string") return undefined;
  return Array.isArray(path) && path.length > 0 ? `${path.join(".")}: ${message}` : message;
};

/** A tool outside the catalog is reported as a defect of the call's name; before registration that is nearly every one. */
const isUnknownTool = (data: unknown): boolean => {
  const issues = fieldOf(data, "issues");
  const path = fieldOf(Array.isArray(issues) ? issues[0] : undefined, "path");
  return Array.isArray(path) && path.length === 1 && path[0] === "name";
};

const failureOf = (mcpUrl: string, name: string, error: unknown): Failure => {
  if (error instanceof ProtocolError) {
    const reason = fieldOf(error.data, "reason");
    const trouble = reason === "dependency-unavailable" ? Trouble.fromWords(error.message) : null;
    if (trouble !== null) return ofTrouble(trouble);
    const ended = typeof reason === "string" ? EndedPost.fromWords(reason, error.message) : null;
    if (ended !== null) return ofEnded(ended);
    if (typeof reason === "string") return ofReason(reason, issueOf(error.data));
    if (error.code !== Number(ProtocolErrorCode.InvalidParams)) return otherVersion(error);
    const issue = issueOf(error.data);
    if (issue !== undefined && !isUnknownTool(error.data)) {
      return failed(
        "invalid-params",
        `the daemon refused the call of ${name}: ${issue}`,
        "Correct that argument.",
      );
    }
    return ofAbsentTool(name);
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return failed(
      "timeout",
      `the daemon did not answer ${name} in time`,
      "It may still be at work: look at it with `social-harness status`.",
      error,
    );
  }
  return unanswered(mcpUrl, error);
};

export interface ConnectOptions {
  /** Asked at each request, so that a rotation goes unnoticed; absent where the daemon's mode takes whoever comes. */
  readonly token?: () => string;
}

/** The transport's options under which every request shows the token. */
const showing = (token: ConnectOptions["token"]): StreamableHTTPClientTransportOptions =>
  token === undefined
    ? {}
    : {
        fetch: (url, init) => {
          const headers = new Headers(init?.headers);
          headers.set("authorization", `Bearer ${token()}`);
          return fetch(url, { ...init, headers });
        },
      };

/** Connects to a daemon's MCP endpoint. Throws a `Failure` with exit code 3 when nothing answers there. */
export const connect = async (mcpUrl: string, { token }: ConnectOptions = {}): Promise<DaemonClient> => {
  const client = new Client(
    { name: "social-harness", version },
    { versionNegotiation: { mode: { pin: protocolVersion }, probe: { timeoutMs: connectMsMax } } },
  );
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), showing(token)));
  } catch (error) {
    throw error instanceof UnsupportedProtocolVersionError ? otherVersion(error) : unanswered(mcpUrl, error);
  }
  return {
    call: async (name, input = {}) => {
      let structured: unknown;
      try {
        const result = await client.callTool({ name, arguments: { ...input } }, { timeout: callMsMax });
        structured = result.structuredContent;
      } catch (error) {
        throw failureOf(mcpUrl, name, error);
      }
      try {
        return ToolResults.decode(name, structured);
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        throw otherVersion(error);
      }
    },
    close: () => client.close(),
  };
};
