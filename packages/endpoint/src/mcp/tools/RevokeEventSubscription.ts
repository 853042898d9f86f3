// `revoke_event_subscription`: the owner ends the webhook subscription; the items that it did not deliver stay. MGT-77.

import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";

export const revokeEventSubscription = Tool.define({
  name: "revoke_event_subscription",
  description:
    "For this endpoint's owner: end the webhook subscription, whatever state it is in. Items that were not delivered " +
    "stay in the inbox. Needed before another callback can be subscribed.",
  annotations: {
    title: "Revoke the event subscription",
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  inputSchema: JsonSchema.object({}),
  outputSchema: JsonSchema.object(
    { kind: JsonSchema.oneOf(["revoked", "none"], "none: there was nothing to revoke.") },
    ["kind"],
  ),
  decode: Tool.nothing,
  run: (operations) => operations.revokeEventSubscription(),
});
