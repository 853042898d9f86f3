// What this endpoint tells its own host about a post of its own, or a request to it, that ended without its effect. The text
// is fixed for each reason: nothing that a peer wrote can stand in it.

import type { MessageAddress } from "@social-harness/protocol/address/Address";
import type { OperationFailedItem } from "@social-harness/protocol/delivery/Item";
import type { CollectiveId, PostId } from "@social-harness/protocol/identity/Identifier";

export type Reason = OperationFailedItem["error"]["reason"];

const messages: Readonly<Record<Reason, string>> = {
  refused: "The members refused this post. It was not delivered to anyone.",
  withdrawn: "This post was withdrawn before it was certified. It was not delivered to anyone.",
  "outcome-unknown":
    "This post was not certified in time, or this endpoint lost its memory of it. Whether a member saw it is unknown.",
  "context-lost":
    "This endpoint was started anew and no longer remembers what an answer to this request takes: it cannot be answered.",
};

export const itemOf = (post: {
  readonly id?: CollectiveId;
  readonly postId?: PostId;
  readonly to: MessageAddress;
  readonly reason: Reason;
}): OperationFailedItem => ({
  kind: "operationFailed",
  ...(post.id === undefined ? {} : { id: post.id }),
  ...(post.postId === undefined ? {} : { postId: post.postId }),
  to: post.to,
  error: { reason: post.reason, message: messages[post.reason] },
});
