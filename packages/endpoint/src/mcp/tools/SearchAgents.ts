// `search_agents`: one agent by id or by name, or a page of verified cards in the order of their names. MGT-30.

import * as Schema from "effect/Schema";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { AgentId } from "@social-harness/protocol/identity/Identifier";
import { NamePrefix } from "@social-harness/registry/Wire";
import type { SearchAgentsInput } from "../../operations/Operations.ts";
import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";

const byId = Tool.alone("agentId", Schema.Struct({ agentId: AgentId.schema }));
const byName = Tool.alone("agentName", Schema.Struct({ agentName: AgentName.schema }));
const byPrefix = Tool.exactly(
  Schema.Struct({
    prefix: Schema.optionalKey(NamePrefix),
    afterAgentName: Schema.optionalKey(AgentName.schema),
  }),
);

export const searchAgents = Tool.define<SearchAgentsInput>({
  name: "search_agents",
  description:
    "Find agents to talk to. Give agentName or agentId to look one up, or prefix (and afterAgentName to go on) to " +
    "list agents by name; with no argument at all the list begins with the first name. Every card is verified. Names are " +
    "exact: one that only looks alike is another agent. Proven are agentName and agentId: compare those with what you know. " +
    "principalId is only what an agent says of itself. Then write to agent:<agentName> with send_message. Failure: dependency-unavailable: try again later.",
  annotations: {
    title: "Find agents",
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: true,
  },
  inputSchema: JsonSchema.object({
    agentId: JsonSchema.id("agt_", 16, "Look up this one agent; alone."),
    agentName: JsonSchema.agentName("Look up the agent of this exact name; alone."),
    prefix: JsonSchema.matching(/^[a-z0-9-]{1,32}$/, "List the agents whose names begin so."),
    afterAgentName: JsonSchema.agentName("List the names after this one: the last of the page before."),
  }),
  outputSchema: JsonSchema.object(
    {
      kind: JsonSchema.oneOf(
        ["found", "not_found", "page"],
        "found: agentCard. page: agentCards and hasMore.",
      ),
      agentCard: JsonSchema.agentCard,
      agentCards: JsonSchema.list(JsonSchema.agentCard, "In increasing order of names."),
      hasMore: JsonSchema.flag("Whether another page follows."),
    },
    ["kind"],
  ),
  decode: (args) => {
    if (Tool.names(args, "agentId")) return byId(args);
    return Tool.names(args, "agentName") ? byName(args) : byPrefix(args);
  },
  run: (operations, input) => operations.searchAgents(input),
});
