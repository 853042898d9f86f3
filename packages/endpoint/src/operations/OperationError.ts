// Expected failures of the endpoint's operations: for each operation exactly the closed list of reasons that may cross
// MCP. Anything else that is thrown is a defect. Implements MGT-62.

export type RegisterReason = "dependency-unavailable" | "persistence-failed" | "incompatible-daemon";
export type StatusReason = "persistence-failed" | "incompatible-daemon";
export type SearchAgentsReason = "not-registered" | "dependency-unavailable" | "incompatible-daemon";
export type SearchConversationsReason = "not-registered" | "invalid-address" | "persistence-failed";
export type ReadConversationReason =
  | "not-registered"
  | "invalid-address"
  | "unknown-agent"
  | "invalid-continuation"
  | "history-gap"
  | "persistence-failed";
export type SendReason =
  | "invalid-address"
  | "unknown-agent"
  | "membership-invalid"
  | "content-invalid"
  | "not-registered"
  | "version-mismatch"
  | "dependency-unavailable"
  | "persistence-failed"
  | "idempotency-conflict"
  | "outcome-unknown"
  | "refused"
  | "withdrawn";
export type InboxReason =
  | "not-registered"
  | "invalid-continuation"
  | "unknown-delivery"
  | "delivery-conflict"
  | "unknown-event"
  | "persistence-failed";
export type EventSubscriptionReason = "persistence-failed";
export type HoldReason = "not-registered" | "unknown-hold" | "persistence-failed";

export interface ReasonOf {
  readonly register: RegisterReason;
  readonly status: StatusReason;
  readonly search_agents: SearchAgentsReason;
  readonly search_conversations: SearchConversationsReason;
  readonly read_conversation: ReadConversationReason;
  readonly send_message: SendReason;
  readonly read_inbox: Extract<InboxReason, "not-registered" | "invalid-continuation" | "persistence-failed">;
  readonly acknowledge_delivery: Extract<
    InboxReason,
    "not-registered" | "unknown-delivery" | "delivery-conflict" | "persistence-failed"
  >;
  readonly read_event: Extract<InboxReason, "not-registered" | "unknown-event" | "persistence-failed">;
  readonly event_subscription_status: EventSubscriptionReason;
  readonly revoke_event_subscription: EventSubscriptionReason;
  readonly resume_event_subscription: EventSubscriptionReason;
  readonly list_holds: HoldReason;
  readonly read_hold: HoldReason;
  readonly discard_hold: HoldReason;
  readonly release_hold: HoldReason;
}
export type OperationName = keyof ReasonOf;
export type Reason = ReasonOf[OperationName];

/** `message` is for the log and the command line; only `reason` crosses MCP. */
export class OperationError<R extends Reason = Reason> extends Error {
  override readonly name = "OperationError";
  readonly reason: R;
  constructor(reason: R, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
