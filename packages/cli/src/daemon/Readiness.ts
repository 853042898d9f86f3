// How a running endpoint stands, asked from its daemon. Implements RUN-17.

import * as Schema from "effect/Schema";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import * as OwnerCall from "./OwnerCall.ts";

const Explained = Schema.Struct({ reason: Schema.String, explanation: Schema.String });
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

const Health = Schema.Struct({
  registered: Schema.Boolean,
  routerConnected: Schema.Boolean,
  routerSince: Schema.NullOr(Schema.String),
  routerTrouble: Schema.NullOr(Explained),
  routerEquivocations: Count,
  routerChanged: Schema.NullOr(Schema.Struct({ ...Explained.fields, at: Schema.String })),
  conversationsChanging: Count,
  restored: Schema.NullOr(
    Schema.Struct({ at: Schema.String, conversations: Count, explanation: Schema.String }),
  ),
  pendingItems: Count,
  pendingPosts: Count,
  pendingAddresses: Schema.Array(Schema.String),
  outboxEnvelopes: Count,
});
export type Health = typeof Health.Type;

const decode = Closed.decoder(Health);

export const read = (served: OwnerCall.Served): Promise<Health> => OwnerCall.call(served, "/readyz", decode);
