// `release_hold`: the owner lets a held message through after its turn, where the firewall's file allows that. ING-164.

import { endings } from "../../operations/Holds.ts";
import * as JsonSchema from "../JsonSchema.ts";
import * as Tool from "../Tool.ts";
import { holdId } from "./ListHolds.ts";
import { decodeHoldId } from "./ReadHold.ts";

export const releaseHold = Tool.define({
  name: "release_hold",
  description:
    "For this endpoint's owner: let a held message through to the model now, behind whatever came after it. There it is marked as " +
    "released. Repeating it lets nothing more through; discarded says that it had been discarded before, and stays so. Failure: " +
    "unknown-hold: no message was held under that id; look at list_holds.",
  annotations: {
    title: "Release a held message",
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  inputSchema: JsonSchema.object({ holdId: holdId("The hold's id.") }, ["holdId"]),
  outputSchema: JsonSchema.object({ kind: JsonSchema.oneOf(endings, "How the hold has ended.") }, ["kind"]),
  decode: decodeHoldId,
  run: (operations, input) => operations.releaseHold(input.holdId),
});
