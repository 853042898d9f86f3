// `event_subscription_status`: how the webhook subscription stands, to the owner. MGT-76.

import { errors, states } from "../../operations/EventSubscription.ts";
import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";

const utc = (description: string): JsonSchema.Fragment => JsonSchema.text(`UTC. ${description}`);
const orNull = ({ description = null, ...fragment }: JsonSchema.Fragment): JsonSchema.Fragment => ({
  anyOf: [fragment, { type: "null" }],
  description,
});

export const eventSubscriptionStatus = Tool.define({
  name: "event_subscription_status",
  description:
    "For this endpoint's owner: show whether a webhook is subscribed to its events, and whether deliveries arrive " +
    "there. Shows neither the callback's address nor its secret.",
  annotations: {
    title: "Show the event subscription",
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  inputSchema: JsonSchema.object({}),
  outputSchema: JsonSchema.object(
    {
      kind: JsonSchema.oneOf(
        ["none", "subscription"],
        "none: no webhook is subscribed, and nothing else is here.",
      ),
      subscriptionId: JsonSchema.text("The subscription's id, the same over refreshes."),
      event: JsonSchema.text("The event's name."),
      state: JsonSchema.oneOf(
        states,
        "Only active and retrying ones deliver; a rejected one must be revoked.",
      ),
      resting: orNull(
        JsonSchema.oneOf(
          ["trusted-local"],
          "The mode in which nothing is delivered, whatever the state; null where deliveries are made.",
        ),
      ),
      refreshBefore: utc("When the subscription expires unless it is refreshed."),
      lastDeliveryAt: orNull(utc("The last receipt.")),
      lastError: orNull(JsonSchema.oneOf(errors, "Why the last attempt failed.")),
      lastStatus: orNull({
        type: "integer",
        minimum: 200,
        description: "The HTTP status that it was answered with.",
      }),
      failedSince: orNull(utc("The first failed attempt of the delivery that is due.")),
      failedAttempts: {
        type: "integer",
        minimum: 0,
        description: "Failed attempts of the delivery that is due.",
      },
      nextAttemptAt: orNull(utc("When a failed delivery goes out again.")),
      waitingItems: {
        type: "integer",
        minimum: 0,
        description: "Unread items of the inbox, which wait for their delivery.",
      },
    },
    ["kind"],
  ),
  decode: Tool.nothing,
  run: (operations) => operations.eventSubscriptionStatus(),
});
