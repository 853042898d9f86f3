// From an operation's closed reasons to the wire: one exhaustive table an operation, so a reason without an answer does
// not compile. The words are fixed; an error's own text stays in the log, and
// of an absent Registry the closed words of Trouble.ts say why, and of a post that ended those of EndedPost.ts which.
// Implements MGT-62 to MGT-64.

import { EndedPostError } from "../operations/EndedPost.ts";
import {
  OperationError,
  type OperationName,
  type Reason,
  type ReasonOf,
} from "../operations/OperationError.ts";
import * as Trouble from "../transport/Trouble.ts";
import { codes, invalidParams, McpError } from "./McpError.ts";

/** Expected failures are words alone; what the caller wrote wrongly also has the place of it. */
type Failure = string | { readonly at: ReadonlyArray<string>; readonly expected: string };

const notRegistered = "This endpoint has no registered agent yet.";
const registryDown = "The Registry did not answer in time. Try again.";
const storeFailed = "The endpoint's store failed. Its log says why.";
const otherVersion = "The daemon speaks another version of the protocol.";
const noAddress =
  "The address is not agent:<name>, or group:<name>,<name>,... with all members, the own name among them, in increasing order.";

const noHold = "No message was held under that id. Look at list_holds.";
const holdFailures = {
  "not-registered": notRegistered,
  "unknown-hold": noHold,
  "persistence-failed": storeFailed,
};

const failures: { readonly [Name in OperationName]: Readonly<Record<ReasonOf[Name], Failure>> } = {
  register: {
    "dependency-unavailable": registryDown,
    "persistence-failed": storeFailed,
    "incompatible-daemon": otherVersion,
  },
  status: { "persistence-failed": storeFailed, "incompatible-daemon": otherVersion },
  search_agents: {
    "not-registered": notRegistered,
    "dependency-unavailable": registryDown,
    "incompatible-daemon": otherVersion,
  },
  search_conversations: {
    "not-registered": notRegistered,
    "invalid-address": noAddress,
    "persistence-failed": storeFailed,
  },
  read_conversation: {
    "not-registered": notRegistered,
    "invalid-address": noAddress,
    "unknown-agent": "The Registry knows no agent of a name in that address.",
    "invalid-continuation": "The continuation was used, has expired or is not from this daemon. Begin again.",
    "history-gap": "There is no conversation with that address here, or no such record in it.",
    "persistence-failed": "The stored records cannot be read or do not verify. The endpoint's log says why.",
  },
  send_message: {
    "invalid-address": {
      at: ["input", "to"],
      expected: "expected agent:<name> or group:<name>,<name>,... of registered names",
    },
    "membership-invalid": {
      at: ["input", "to"],
      expected:
        "expected one other agent, or a group of 3 to 32 different members with the local agent counted",
    },
    "content-invalid": {
      at: ["input", "text"],
      expected: "expected well-formed text of at most 262117 bytes in JSON",
    },
    "unknown-agent": "The Registry knows no agent of that name. Look it up with search_agents.",
    "not-registered": notRegistered,
    "version-mismatch": "A service of the network speaks another version of the protocol.",
    "dependency-unavailable":
      "The Registry did not answer, and this is the first post to that address. Try again.",
    "persistence-failed": storeFailed,
    "idempotency-conflict": "That idempotency key was used with another input.",
    "outcome-unknown": "The post could not be certified in time. Whether a member saw it is unknown.",
    refused: "The members refused the post.",
    withdrawn: "The post was withdrawn.",
  },
  read_inbox: {
    "not-registered": notRegistered,
    "invalid-continuation": "The cursor is not from this inbox. Begin again without one.",
    "persistence-failed": storeFailed,
  },
  acknowledge_delivery: {
    "not-registered": notRegistered,
    "unknown-delivery": "No item was delivered under that token.",
    "delivery-conflict": "Another consumer is retiring this item now. Read the inbox again.",
    "persistence-failed": storeFailed,
  },
  read_event: {
    "not-registered": notRegistered,
    "unknown-event": "No item has that event id.",
    "persistence-failed": storeFailed,
  },
  event_subscription_status: { "persistence-failed": storeFailed },
  revoke_event_subscription: { "persistence-failed": storeFailed },
  resume_event_subscription: { "persistence-failed": storeFailed },
  list_holds: holdFailures,
  read_hold: holdFailures,
  discard_hold: holdFailures,
  release_hold: holdFailures,
};

/** What the wire says of an error that an operation threw; null when it is not one of the operation's own. */
export const errorOf = (name: OperationName, error: unknown): McpError | null => {
  if (!(error instanceof OperationError)) return null;
  const reason: Reason = error.reason;
  const failure = (failures[name] as Readonly<Partial<Record<Reason, Failure>>>)[reason];
  if (failure === undefined) return null;
  if (error instanceof EndedPostError) return new McpError(codes.internalError, error.message, { reason });
  if (typeof failure === "string") {
    const trouble = reason === "dependency-unavailable" ? Trouble.of(error.cause) : null;
    // What the command line reads back stands alone; everywhere else the reason stands in the words too, for a model.
    const words = trouble === null ? `${failure} (${reason})` : Trouble.toWords(trouble);
    return new McpError(codes.internalError, words, { reason });
  }
  const issue = { path: failure.at, message: failure.expected };
  return invalidParams([issue], "The message cannot be sent as it is.", reason);
};

/** A defect: its cause is in the log and nowhere else. */
export const internal = (): McpError =>
  new McpError(codes.internalError, "Something went wrong inside the endpoint. Its log says what.", {
    reason: "internal",
  });
