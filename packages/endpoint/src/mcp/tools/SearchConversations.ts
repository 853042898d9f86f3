// `search_conversations`: the addresses of this endpoint's certified conversations, a page at a time. MGT-32 to MGT-34.

import * as Schema from "effect/Schema";
import * as Limits from "@social-harness/protocol/Limits";
import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";

const decode = Tool.exactly(Schema.Struct({ afterAddress: Schema.optionalKey(Schema.String) }));

export const searchConversations = Tool.define({
  name: "search_conversations",
  description:
    "List the conversations that this agent is in, by address, 50 at a time. While hasMore is true, call again with " +
    "afterAddress set to the last address. Each address is good for read_conversation and for send_message. Failure: " +
    "invalid-address: afterAddress is agent:<name>, or group:<name>,<name>,... with all members in increasing order.",
  annotations: {
    title: "List conversations",
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  inputSchema: JsonSchema.object({
    afterAddress: JsonSchema.text("Only addresses after this one, which need not exist."),
  }),
  outputSchema: JsonSchema.object(
    {
      kind: JsonSchema.oneOf(["page"], "Always page."),
      addresses: {
        ...JsonSchema.list(
          JsonSchema.text("agent:<name> or group:<name>,<name>,..."),
          "In increasing byte order.",
        ),
        maxItems: Limits.conversationPageAddressesMax,
      },
      hasMore: JsonSchema.flag("Whether another address follows."),
    },
    ["kind", "addresses", "hasMore"],
  ),
  decode,
  run: (operations, input) => operations.searchConversations(input),
});
