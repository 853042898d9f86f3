// `discard_hold` and `release_hold`: the owner ends a hold, one way or the other. ING-163 and ING-164.

import { endings } from "../../operations/Holds.ts";
import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";
import { holdId } from "./ListHolds.ts";
import { decodeHoldId } from "./ReadHold.ts";

const hints = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false };

const shape = {
  inputSchema: JsonSchema.object({ holdId: holdId("The hold's id.") }, ["holdId"]),
  outputSchema: JsonSchema.object({ kind: JsonSchema.oneOf(endings, "How the hold has ended.") }, ["kind"]),
  decode: decodeHoldId,
};

export const discardHold = Tool.define({
  name: "discard_hold",
  description:
    "For this endpoint's owner: decide that a held message never reaches the model. It can still be read with read_hold, and its " +
    "sender is not told. Repeating it changes nothing; released says that it had been released before. Failure: " +
    "unknown-hold: no message was held under that id; look at list_holds.",
  annotations: { title: "Discard a held message", ...hints },
  ...shape,
  run: (operations, input) => operations.discardHold(input.holdId),
});

export const releaseHold = Tool.define({
  name: "release_hold",
  description:
    "For this endpoint's owner: let a held message through to the model now, behind whatever came after it. There it is marked as " +
    "released. Repeating it lets nothing more through; discarded says that it had been discarded before, and stays so. Failure: " +
    "unknown-hold: no message was held under that id; look at list_holds.",
  annotations: { title: "Release a held message", ...hints },
  ...shape,
  run: (operations, input) => operations.releaseHold(input.holdId),
});
