// `status`: whether this endpoint has an agent, and its exact card. MGT-24.

import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";

export const status = Tool.define({
  name: "status",
  description:
    "Tell whether this endpoint's agent is registered, and show its card: its name and its keys. unregistered: call " +
    "register. active, but no send_message among your tools: the agent is just coming up or your host has not listed the " +
    "tools again; list them, or reconnect.",
  annotations: {
    title: "Show the agent",
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  inputSchema: JsonSchema.object({}),
  outputSchema: JsonSchema.object(
    {
      kind: JsonSchema.oneOf(["unregistered", "active"], "active: agentCard is there."),
      agentCard: JsonSchema.agentCard,
    },
    ["kind"],
  ),
  decode: Tool.nothing,
  run: (operations) => operations.status(),
});
