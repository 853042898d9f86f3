// The structured results of the daemon's tools, closed, as this version of the command line understands them.

import * as Schema from "effect/Schema";
import * as EventSubscription from "@social-harness/endpoint/operations/EventSubscription";
import * as HoldId from "@social-harness/endpoint/firewall/HoldId";
import { holdReasons } from "@social-harness/endpoint/firewall/Verdict";
import * as Address from "@social-harness/protocol/address/Address";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { Item } from "@social-harness/protocol/delivery/Item";
import { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { DeliveryToken, OperationId, PostId } from "@social-harness/protocol/identity/Identifier";

const kind = <const Kind extends string>(name: Kind) => ({ kind: Schema.Literal(name) });
const bare = <const Kind extends string>(name: Kind) => Schema.Struct(kind(name));

const Registered = Schema.Struct({ ...kind("registered"), agentCard: AgentCard.schema });

/** What the owner has said of an item, beside it. */
const beside = {
  guidance: Schema.optionalKey(Schema.String),
  released: Schema.optionalKey(Schema.Literal(true)),
};

const Hold = Schema.Struct({
  holdId: HoldId.schema,
  heldAt: Schema.String,
  reason: Schema.Literals(holdReasons),
  rule: Schema.optionalKey(Schema.Int),
  explanation: Schema.optionalKey(Schema.String),
  itemKind: Schema.String,
  sender: Address.MessageAddress,
  address: Address.MessageAddress,
  bytes: Schema.Int,
});
const HoldEnded = Schema.Struct({ kind: Schema.Literals(["discarded", "released"]) });

/** How a webhook stands, also in what a daemon says of itself. */
export const webhookFields = {
  subscriptionId: Schema.String,
  event: Schema.String,
  state: Schema.Literals(EventSubscription.states),
  resting: Schema.NullOr(Schema.Literal("trusted-local")),
  refreshBefore: Schema.String,
  lastDeliveryAt: Schema.NullOr(Schema.String),
  lastError: Schema.NullOr(Schema.Literals(EventSubscription.errors)),
  lastStatus: Schema.NullOr(Schema.Int),
  failedSince: Schema.NullOr(Schema.String),
  failedAttempts: Schema.Int,
  nextAttemptAt: Schema.NullOr(Schema.String),
  waitingItems: Schema.Int,
} as const;

const schemas = {
  register: Schema.Union([
    Registered,
    bare("name_taken"),
    bare("key_already_registered"),
    bare("idempotency_conflict"),
    bare("admission_refused"),
  ]),
  status: Schema.Union([
    bare("unregistered"),
    Schema.Struct({ ...kind("active"), agentCard: AgentCard.schema }),
  ]),
  search_agents: Schema.Union([
    Schema.Struct({ ...kind("found"), agentCard: AgentCard.schema }),
    bare("not_found"),
    Schema.Struct({
      ...kind("page"),
      agentCards: Schema.Array(AgentCard.schema),
      hasMore: Schema.Boolean,
    }),
  ]),
  search_conversations: Schema.Struct({
    ...kind("page"),
    addresses: Schema.Array(Address.MessageAddress),
    hasMore: Schema.Boolean,
  }),
  read_conversation: Schema.Struct({
    ...kind("page"),
    records: Schema.Array(HistoryRecord),
    continuation: Schema.NullOr(Schema.String),
  }),
  send_message: Schema.Struct({
    status: Schema.Literals(["certified", "pending"]),
    postId: Schema.optionalKey(PostId.schema),
    operationId: Schema.optionalKey(OperationId.schema),
  }),
  read_inbox: Schema.Struct({
    items: Schema.Array(
      Schema.Struct({
        deliveryToken: DeliveryToken.schema,
        item: Item,
        ...beside,
      }),
    ),
    nextCursor: Schema.optionalKey(Schema.String),
  }),
  acknowledge_delivery: Schema.Struct({}),
  event_subscription_status: Schema.Union([
    bare("none"),
    Schema.Struct({
      ...kind("subscription"),
      ...webhookFields,
    }),
  ]),
  revoke_event_subscription: Schema.Union([bare("revoked"), bare("none")]),
  resume_event_subscription: Schema.Union([
    bare("resumed"),
    bare("rejected"),
    bare("expired"),
    bare("resting"),
    bare("none"),
  ]),
  read_event: Schema.Struct({ item: Item, ...beside }),
  list_holds: Schema.Struct({
    holds: Schema.Array(Hold),
    hasMore: Schema.Boolean,
    queued: Schema.Int,
  }),
  read_hold: Schema.Struct({
    hold: Hold,
    state: Schema.Literals(["held", "discarded", "released"]),
    endedAt: Schema.optionalKey(Schema.String),
    item: Item,
  }),
  discard_hold: HoldEnded,
  release_hold: HoldEnded,
} as const;

export type ToolName = keyof typeof schemas;
export type ResultOf<Name extends ToolName> = (typeof schemas)[Name]["Type"];

const decoders = Object.fromEntries(
  Object.entries(schemas).map(([name, schema]) => [
    name,
    Closed.decoder(schema as Schema.ConstraintDecoder<unknown>),
  ]),
) as { readonly [Name in ToolName]: (value: unknown) => ResultOf<Name> };

/** Throws `DecodeError`. */
export const decode = <Name extends ToolName>(name: Name, value: unknown): ResultOf<Name> =>
  decoders[name](value);
