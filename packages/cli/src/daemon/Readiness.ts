// How a running endpoint stands, asked from its daemon. Implements RUN-17.

import * as Schema from "effect/Schema";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { PostId } from "@social-harness/protocol/identity/Identifier";
import { failed } from "../Failure.ts";
import { visible } from "../text/Visible.ts";
import * as OwnerCall from "./OwnerCall.ts";
import { webhookFields } from "./ToolResults.ts";

const Explained = Schema.Struct({ reason: Schema.String, explanation: Schema.String });
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

const Names = Schema.Array(AgentName.schema);

const PendingPost = Schema.Struct({
  postId: PostId.schema,
  address: Schema.String,
  withdrawing: Schema.Boolean,
  recovering: Schema.Boolean,
  unsigned: Schema.NullOr(Names),
});
export type PendingPost = typeof PendingPost.Type;

const Health = Schema.Struct({
  registered: Schema.Boolean,
  routerConnected: Schema.Boolean,
  routerSince: Schema.NullOr(Schema.String),
  routerTrouble: Schema.NullOr(Explained),
  routerRefusing: Schema.NullOr(Schema.Struct({ since: Schema.String, explanation: Schema.String })),
  routerEquivocations: Count,
  routerChanged: Schema.NullOr(Schema.Struct({ ...Explained.fields, at: Schema.String })),
  conversationsChanging: Count,
  restored: Schema.NullOr(
    Schema.Struct({
      at: Schema.String,
      conversations: Count,
      addresses: Schema.Array(Schema.String),
      explanation: Schema.String,
    }),
  ),
  pendingItems: Count,
  firewall: Schema.NullOr(
    Schema.Struct({
      file: Schema.Literals(["absent", "usable", "unusable"]),
      explanation: Schema.NullOr(Schema.String),
      heldItems: Count,
      queuedItems: Count,
    }),
  ),
  webhook: Schema.NullOr(Schema.Struct(webhookFields)),
  pendingPosts: Count,
  pendingAddresses: Schema.Array(Schema.String),
  withdrawingPosts: Count,
  pending: Schema.Array(PendingPost),
  outboxEnvelopes: Count,
  storeTrouble: Schema.NullOr(Schema.Struct({ ...Explained.fields, since: Schema.String })),
  registryUrl: Schema.String,
  routerUrl: Schema.String,
  contacts: Schema.Union([Schema.Literals(["everyone", "known"]), Names]),
  blocked: Names,
});
export type Health = typeof Health.Type;

/** What every service says of itself; a daemon that cannot read its store says no more. */
const standing = { status: Schema.String, cause: Schema.optionalKey(Schema.String) };

const decode = Closed.decoder(
  Schema.Union([Schema.Struct({ ...standing, ...Health.fields }), Schema.Struct(standing)]),
);

export const read = async (served: OwnerCall.Served): Promise<Health> => {
  const { status: _, cause = "", ...health } = await OwnerCall.call(served, "/readyz", decode);
  if ("registered" in health) return health;
  throw failed(
    "not-ready",
    `the daemon cannot say how it stands (${visible(cause)})`,
    "Its log says why: `social-harness logs`.",
  );
};
