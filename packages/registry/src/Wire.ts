// The Registry's wire: paths, the version header, the closed shapes of requests and answers, and the one table from
// error to HTTP status. Service and client both stand on it and on nothing of each other. Implements IDN-20 to IDN-22.

import * as Schema from "effect/Schema";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { AgentId } from "@social-harness/protocol/identity/Identifier";
import * as ProtocolLimits from "@social-harness/protocol/Limits";

export const versionHeader = "social-harness-version";
export const version = "1";
/** On every answer: the key of the Registry that gives it. A name and no proof; what is worth proving is in signed cards. */
export const registryKeyHeader = "social-harness-registry-key";

export const registerPath = "/v1/identities:register";
export const lookupPath = "/v1/identities:lookup";
export const listPath = "/v1/identities:list";

/** Every error that an answer can carry, and its status. There is no free text. */
export const statusOf = {
  malformed: 400,
  authentication_failed: 401,
  not_found: 404,
  method_not_allowed: 405,
  version_mismatch: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  overloaded: 429,
  internal: 500,
  unavailable: 503,
} as const;
export type ErrorCode = keyof typeof statusOf;
export const errorCodes = Object.keys(statusOf) as ReadonlyArray<ErrorCode>;

export const ErrorAnswer = Schema.Struct({ error: Schema.Literals(errorCodes) });

export const LookupRequest = Schema.Union([
  Schema.Struct({ agentId: AgentId.schema }),
  Schema.Struct({ agentName: AgentName.schema }),
]);
export type LookupRequest = typeof LookupRequest.Type;

/** The beginning of a name. Not every such text begins a valid name; then the page is empty. */
const namePrefix = /^[a-z0-9-]{1,32}$/;
export const NamePrefix = Schema.String.check(
  Schema.makeFilter(
    (value: string) =>
      namePrefix.test(value) || "expected the beginning of a name: 1 to 32 characters of a-z, 0-9 and dashes",
  ),
);

export const ListRequest = Schema.Struct({
  afterAgentName: Schema.optionalKey(AgentName.schema),
  prefix: Schema.optionalKey(NamePrefix),
});
export type ListRequest = typeof ListRequest.Type;

export const RegisterAnswer = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("registered"), agentCard: AgentCard.schema }),
  Schema.Struct({ kind: Schema.Literal("name_taken") }),
  Schema.Struct({ kind: Schema.Literal("key_already_registered") }),
  Schema.Struct({ kind: Schema.Literal("idempotency_conflict") }),
  Schema.Struct({ kind: Schema.Literal("admission_refused") }),
]);
export type RegisterAnswer = typeof RegisterAnswer.Type;

export const LookupAnswer = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("found"), agentCard: AgentCard.schema }),
  Schema.Struct({ kind: Schema.Literal("not_found") }),
]);
export type LookupAnswer = typeof LookupAnswer.Type;

export const PageAnswer = Schema.Struct({
  kind: Schema.Literal("page"),
  agentCards: Schema.Array(AgentCard.schema).check(Schema.isMaxLength(ProtocolLimits.agentPageCardsMax)),
  hasMore: Schema.Boolean,
});
export type PageAnswer = typeof PageAnswer.Type;
