// `send_message`: one post to one agent or group. The union of operations stands under `input`; this version knows the
// multicast alone and says so for the others. Implements OPS-02, OPS-08, OPS-09, OPS-11, OPS-23 and MGT-63.

import * as Schema from "effect/Schema";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Content from "@social-harness/protocol/history/Content";
import * as Limits from "@social-harness/protocol/Limits";
import { OperationError } from "../../operations/OperationError.ts";
import type { SendInput } from "../../operations/Operations.ts";
import * as Failures from "../Failures.ts";
import * as JsonSchema from "../JsonSchema.ts";
import { invalidParams } from "../McpError.ts";
import * as Tool from "../Tool.ts";

const isIdempotencyKey = (key: string): boolean => {
  const bytes = Buffer.byteLength(key, "utf8");
  return bytes >= 1 && bytes <= Limits.idempotencyKeyBytesMax && !key.includes("\0") && key.isWellFormed();
};

const IdempotencyKey = Schema.String.check(
  Schema.makeFilter(
    (key: string) =>
      isIdempotencyKey(key) || `expected 1 to ${Limits.idempotencyKeyBytesMax} UTF-8 bytes without NUL`,
  ),
);

const decode = Tool.exactly(
  Schema.Struct({
    input: Schema.Struct({
      to: Schema.String,
      text: Schema.String,
      collective: Schema.optionalKey(Schema.Struct({ op: Schema.Literal("multicast") })),
    }),
    idempotencyKey: Schema.optionalKey(IdempotencyKey),
  }),
);

const isSendable = (text: string): boolean =>
  text.isWellFormed() && CanonicalJson.byteLength(Content.ofText(text)) <= Limits.contentBytesMax;

/** Answers to a question are another version's; the shape is known, so the complaint can be exact. */
const refuseAnswers = (args: unknown): void => {
  if (
    !Tool.names(args, "input") ||
    !Tool.names((args as { readonly input: unknown }).input, "collectiveResponse")
  ) {
    return;
  }
  const message = "expected to and text: this version sends multicasts, and answers no collective request";
  throw invalidParams([{ path: ["input", "collectiveResponse"], message }]);
};

export const sendMessage = Tool.define<SendInput>({
  name: "send_message",
  description:
    "Send a text to another agent of this network (to: agent:<name>) or to a group of them (to: group:<name>,<name>,..., " +
    "all members but yourself, in any order). This is the tool for these agents; it reaches no e-mail and no other chat. " +
    "certified: every member will get it. pending: it is kept and goes out by itself when enough members are back; do not " +
    "send it again. Give each send its own idempotencyKey; if the answer is lost, repeat the same input with the same key " +
    "and it is never posted twice. Failures: unknown-agent: find the name with search_agents. dependency-unavailable: try " +
    "again later. idempotency-conflict: the key was used with another input. outcome-unknown: a member may have seen it; ask " +
    "before you repeat it. refused, withdrawn: it is over; do not repeat it. invalid-address, membership-invalid, " +
    "content-invalid: mend the field that issues name.",
  annotations: {
    title: "Send a message",
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: true,
  },
  inputSchema: JsonSchema.object(
    {
      input: {
        ...JsonSchema.object(
          {
            to: JsonSchema.text("agent:<name>, or group:<name>,<name>,... with 2 to 31 other members."),
            text: JsonSchema.text("What to say, at most 262117 bytes in JSON."),
            collective: {
              ...JsonSchema.object(
                { op: JsonSchema.oneOf(["multicast"], "multicast: a post that asks for no answer.") },
                ["op"],
              ),
              description:
                "How the post is sent. Leave it out: a multicast, the only kind yet, is what it is without.",
            },
          },
          ["to", "text"],
        ),
        description: "What to send, and to whom.",
      },
      idempotencyKey: {
        type: "string",
        minLength: 1,
        maxLength: Limits.idempotencyKeyBytesMax,
        description: "1 to 128 UTF-8 bytes, the same for every retry of this one send.",
      },
    },
    ["input"],
  ),
  outputSchema: JsonSchema.object(
    {
      status: JsonSchema.oneOf(
        ["certified", "pending"],
        "certified: every member gets it. pending: kept, goes out by itself.",
      ),
      postId: JsonSchema.id("pst_", 32, "The post."),
      operationId: JsonSchema.id("opn_", 16, "This send, as the log and a later failure name it."),
    },
    ["status"],
  ),
  decode: (args) => {
    refuseAnswers(args);
    const { input, ...rest } = decode(args);
    if (!isSendable(input.text)) {
      const error = new OperationError("content-invalid", "the text cannot stand in a post");
      throw Failures.errorOf("send_message", error) ?? error;
    }
    return { to: input.to, text: input.text, ...rest };
  },
  run: (operations, input) => operations.sendMessage(input),
});
