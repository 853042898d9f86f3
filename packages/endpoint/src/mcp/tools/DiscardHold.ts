// `discard_hold`: the owner decides that a held message never reaches the model. ING-163.

import { endings } from "../../operations/Holds.ts";
import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";
import { holdId } from "./ListHolds.ts";
import { decodeHoldId } from "./ReadHold.ts";

export const discardHold = Tool.define({
  name: "discard_hold",
  description:
    "For this endpoint's owner: decide that a held message never reaches the model. It can still be read with read_hold, and its " +
    "sender is not told. Repeating it changes nothing; released says that it had been released before. Failure: " +
    "unknown-hold: no message was held under that id; look at list_holds.",
  annotations: {
    title: "Discard a held message",
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  inputSchema: JsonSchema.object({ holdId: holdId("The hold's id.") }, ["holdId"]),
  outputSchema: JsonSchema.object({ kind: JsonSchema.oneOf(endings, "How the hold has ended.") }, ["kind"]),
  decode: decodeHoldId,
  run: (operations, input) => operations.discardHold(input.holdId),
});
