// The reasons that may cross MCP, spelled out once more beside the types.

import type { OperationName, ReasonOf } from "../../src/operations/OperationError.ts";

/** Every reason of every operation, spelled out once more so that a change of the wire is a change of a test. */
export const reasons: { readonly [Name in OperationName]: ReadonlyArray<ReasonOf[Name]> } = {
  register: ["dependency-unavailable", "persistence-failed", "incompatible-daemon"],
  status: ["persistence-failed", "incompatible-daemon"],
  search_agents: ["not-registered", "dependency-unavailable", "incompatible-daemon"],
  search_conversations: ["not-registered", "invalid-address", "persistence-failed"],
  read_conversation: [
    "not-registered",
    "invalid-address",
    "unknown-agent",
    "invalid-continuation",
    "history-gap",
    "persistence-failed",
  ],
  send_message: [
    "unknown-agent",
    "not-registered",
    "version-mismatch",
    "dependency-unavailable",
    "persistence-failed",
    "idempotency-conflict",
    "outcome-unknown",
    "refused",
    "withdrawn",
  ],
  read_inbox: ["not-registered", "invalid-continuation", "persistence-failed"],
  acknowledge_delivery: ["not-registered", "unknown-delivery", "delivery-conflict", "persistence-failed"],
  read_event: ["not-registered", "unknown-event", "persistence-failed"],
  event_subscription_status: ["persistence-failed"],
  revoke_event_subscription: ["persistence-failed"],
  resume_event_subscription: ["persistence-failed"],
  list_holds: ["not-registered", "unknown-hold", "persistence-failed"],
  read_hold: ["not-registered", "unknown-hold", "persistence-failed"],
  discard_hold: ["not-registered", "unknown-hold", "persistence-failed"],
  release_hold: ["not-registered", "unknown-hold", "persistence-failed"],
};
/** Of a send's own fields: malformed, each with the field that it is about. */
export const sendDefects = {
  "invalid-address": "to",
  "membership-invalid": "to",
  "content-invalid": "text",
} as const;
