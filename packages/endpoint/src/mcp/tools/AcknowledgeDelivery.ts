// `acknowledge_delivery`: the host has taken an item over. Says nothing of what becomes of it. ING-22.

import * as Schema from "effect/Schema";
import { DeliveryToken } from "@social-harness/protocol/identity/Identifier";
import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";

const decode = Tool.exactly(Schema.Struct({ deliveryToken: DeliveryToken.schema }));

export const acknowledgeDelivery = Tool.define({
  name: "acknowledge_delivery",
  description:
    "Take one item out of the inbox once it is handled. Repeating it is harmless. Nobody else is told, and nothing is " +
    "sent: answer with send_message first. Failures: unknown-delivery: no item has that token; read the inbox again. " +
    "delivery-conflict: another consumer is taking it at this moment; read the inbox again.",
  annotations: {
    title: "Acknowledge a message",
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  inputSchema: JsonSchema.object(
    { deliveryToken: JsonSchema.id("dlv_", 32, "The token that read_inbox gave with the item.") },
    ["deliveryToken"],
  ),
  outputSchema: JsonSchema.object({}),
  decode,
  run: async (operations, { deliveryToken }) => {
    await operations.acknowledgeDelivery(deliveryToken);
    return {};
  },
});
