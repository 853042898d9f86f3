// `resume_event_subscription`: the owner has a suspended webhook tried again, at once. MGT-78.

import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";

export const resumeEventSubscription = Tool.define({
  name: "resume_event_subscription",
  description:
    "For this endpoint's owner: have the webhook tried again at once, also after it was suspended for its failures. " +
    "One that was rejected must be revoked instead, one that has expired must be refreshed by its subscriber, and one that " +
    "rests needs a daemon in credentials mode.",
  annotations: {
    title: "Resume the event subscription",
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: true,
  },
  inputSchema: JsonSchema.object({}),
  outputSchema: JsonSchema.object(
    {
      kind: JsonSchema.oneOf(
        ["resumed", "rejected", "expired", "resting", "none"],
        "resumed: it is tried now; else why not.",
      ),
    },
    ["kind"],
  ),
  decode: Tool.nothing,
  run: (operations) => operations.resumeEventSubscription(),
});
