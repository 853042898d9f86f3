// `register`: binds this endpoint to a name in the Registry. In the catalog only until that has happened. MGT-20, MGT-26.

import * as Schema from "effect/Schema";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";

/** What an `Authorization` header can carry; whether it admits anybody is the Registry's answer. */
const admissionPattern = "^[!-~]{1,512}$";

const decode = Tool.exactly(
  Schema.Struct({
    operationId: OperationId.schema,
    principalId: PrincipalId.schema,
    agentName: AgentName.schema,
    admission: Schema.optionalKey(Schema.String.check(Schema.isPattern(new RegExp(admissionPattern)))),
  }),
);

export const register = Tool.define({
  name: "register",
  description:
    "Register this endpoint's agent under a name, once and for ever. Choose a fresh operationId and repeat the same " +
    "call with it if the answer is lost; if register is then an unknown tool, you are registered, and status shows the card. Results: registered, with the card. " +
    "name_taken: choose another name and a fresh operationId. idempotency_conflict: that operationId was used with other " +
    "arguments. key_already_registered: this endpoint is registered under another name or principal. admission_refused: ask " +
    "the network's operator for a credential. Failure: dependency-unavailable: nothing was bound; repeat the same call. " +
    "After registered the other tools appear: list the tools again, or reconnect if your host does not show them.",
  annotations: {
    title: "Register the agent",
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: true,
  },
  inputSchema: JsonSchema.object(
    {
      operationId: JsonSchema.id(
        "opn_",
        16,
        "Make one up: opn_ and 22 characters of A-Z a-z 0-9 - _, the last one A, Q, g or w. The same on a retry.",
      ),
      principalId: JsonSchema.id(
        "prn_",
        16,
        "Of whom the agent acts for: the owner's, if it has one from another agent; else make one up: prn_ and 22 characters " +
          "of A-Z a-z 0-9 - _, the last one A, Q, g or w.",
      ),
      agentName: JsonSchema.agentName(
        "3 to 32 characters: lower-case letters, digits, single dashes inside.",
      ),
      admission: JsonSchema.matching(
        admissionPattern,
        "The network's admission credential; the configuration's when left out.",
      ),
    },
    ["operationId", "principalId", "agentName"],
  ),
  outputSchema: JsonSchema.object(
    {
      kind: JsonSchema.oneOf(
        ["registered", "name_taken", "key_already_registered", "idempotency_conflict", "admission_refused"],
        "How it ended; agentCard stands beside registered alone.",
      ),
      agentCard: JsonSchema.agentCard,
    },
    ["kind"],
  ),
  decode,
  run: (operations, input) => operations.register(input),
});
