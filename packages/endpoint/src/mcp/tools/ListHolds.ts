// `list_holds`: what the firewall keeps from the model, to the owner, without content. ING-161.

import * as Schema from "effect/Schema";
import * as HoldId from "../../firewall/HoldId.ts";
import * as Limits from "../../firewall/Limits.ts";
import { holdReasons } from "../../firewall/Verdict.ts";
import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";

const decode = Tool.exactly(Schema.Struct({ afterHoldId: Schema.optionalKey(HoldId.schema) }));

export const holdId = (description: string): JsonSchema.Fragment =>
  JsonSchema.id(HoldId.prefix, HoldId.byteCount, description);

export const hold: JsonSchema.Fragment = {
  ...JsonSchema.object(
    {
      holdId: holdId("For read_hold and discard_hold."),
      heldAt: JsonSchema.text("UTC. When it was held."),
      reason: JsonSchema.oneOf(
        holdReasons,
        "rule: the firewall's rules; checker: its checker; check-failed: no verdict; rules-unreadable: the file is broken.",
      ),
      rule: { type: "integer", minimum: 1, description: "The rule that decided, counted from 1." },
      explanation: JsonSchema.text("Why, in the words of the rule or the checker."),
      itemKind: JsonSchema.text("The kind of the held item."),
      sender: JsonSchema.text("Who wrote it, proven by signature."),
      address: JsonSchema.text("The conversation."),
      bytes: { type: "integer", minimum: 0, description: "The size of the item." },
    },
    ["holdId", "heldAt", "reason", "itemKind", "sender", "address", "bytes"],
  ),
  description: "A held message without its content.",
};

export const listHolds = Tool.define({
  name: "list_holds",
  description:
    "For this endpoint's owner: list the messages that the firewall holds back, oldest first, 50 at a time, without their " +
    "content. While hasMore is true, call again with afterHoldId set to the last id. The model does not see any of them. Failure: " +
    "unknown-hold: afterHoldId was never given; begin again without it.",
  annotations: {
    title: "List held messages",
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  inputSchema: JsonSchema.object({ afterHoldId: holdId("Only holds after this one, which may have ended.") }),
  outputSchema: JsonSchema.object(
    {
      holds: { ...JsonSchema.list(hold, "What is held, oldest first."), maxItems: Limits.holdPageMax },
      hasMore: JsonSchema.flag("Whether another hold follows."),
      queued: { type: "integer", minimum: 0, description: "Items that are being judged or wait for it." },
    },
    ["holds", "hasMore", "queued"],
  ),
  decode,
  run: (operations, input) => operations.listHolds(input),
});
