// What a JSON-RPC error of this endpoint may say: a code, fixed words, and data that is closed for each kind.
// The SDK sends whatever an error carries in `code`, `message` and `data`, so nothing else may reach it. MGT-60 to MGT-64.

import type { DecodeIssue } from "@social-harness/protocol/encoding/DecodeError";

export const codes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  headerMismatch: -32_020,
  unsupportedProtocolVersion: -32_022,
  /** The Events draft's own numbers. */
  eventNotFound: -32_011,
  eventResourceExhausted: -32_013,
  eventUnsupported: -32_014,
  eventCallback: -32_015,
  /** What the SDK's own guards answer before a message has been read. */
  refused: -32_000,
} as const;

export class McpError extends Error {
  override readonly name = "McpError";
  readonly #own = true;
  /** Asks nothing of the value, which may be a proxy that throws when it is asked. */
  static is(value: unknown): value is McpError {
    return typeof value === "object" && value !== null && #own in value && value.#own;
  }
  readonly code: number;
  readonly data: Readonly<Record<string, unknown>>;
  constructor(code: number, message: string, data: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Places that the message names: the rest is in `data.issues`. */
const issuesInWords = 3;

/** Hosts show a model the message, and many nothing of the data: so the first issues stand in it as well. */
const toWords = (message: string, issues: ReadonlyArray<DecodeIssue>): string => {
  const named = issues
    .slice(0, issuesInWords)
    .map(({ path, message: expectation }) =>
      path.length === 0 ? expectation : `${path.join(".")}: ${expectation}`,
    );
  const left = issues.length - named.length;
  return `${message} ${named.join("; ")}${left > 0 ? `; and ${left} more in data.issues` : ""}.`;
};

/** A malformed call: 1 to 20 places where it is off, and a send's own reason beside them. */
export const invalidParams = (
  issues: ReadonlyArray<DecodeIssue>,
  message = "The arguments do not have the expected shape.",
  reason?: string,
): McpError =>
  new McpError(
    codes.invalidParams,
    toWords(message, issues),
    reason === undefined ? { issues } : { reason, issues },
  );
