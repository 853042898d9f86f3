// What a receiving host gets: classified items, closed. The content of a message is the certified content without its
// collective part. Implements ING-05 to ING-07.

import * as Schema from "effect/Schema";
import * as Address from "../address/Address.ts";
import * as Content from "../history/Content.ts";
import { CollectiveId, PostId } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";

export const DirectMessage = Schema.Struct({
  kind: Schema.Literal("direct"),
  postId: PostId.schema,
  /** The conversation as this endpoint names it. */
  address: Address.AgentAddress,
  sender: Address.AgentAddress,
  content: Content.schema,
});
export type DirectMessage = typeof DirectMessage.Type;

export const GroupMessage = Schema.Struct({
  kind: Schema.Literal("group"),
  postId: PostId.schema,
  address: Address.GroupAddress,
  sender: Address.AgentAddress,
  members: Schema.Array(Address.AgentAddress).check(
    Schema.isMinLength(Limits.groupMembersMin),
    Schema.isMaxLength(Limits.membersMax),
  ),
  content: Content.schema,
});
export type GroupMessage = typeof GroupMessage.Type;

export const MulticastItem = Schema.Struct({
  kind: Schema.Literal("multicast"),
  message: Schema.Union([DirectMessage, GroupMessage]),
});
export type MulticastItem = typeof MulticastItem.Type;

export const OperationFailedReason = Schema.Literals([
  "refused",
  "withdrawn",
  "outcome-unknown",
  "context-lost",
]);

/** A post of this endpoint's own, or a request to it, that ended without its effect. */
export const OperationFailedItem = Schema.Struct({
  kind: Schema.Literal("operationFailed"),
  /** The request that can no longer be answered. */
  id: Schema.optionalKey(CollectiveId.schema),
  postId: Schema.optionalKey(PostId.schema),
  to: Address.MessageAddress,
  error: Schema.Struct({ reason: OperationFailedReason, message: Schema.String }),
});
export type OperationFailedItem = typeof OperationFailedItem.Type;

export const Item = Schema.Union([MulticastItem, OperationFailedItem]);
export type Item = typeof Item.Type;
