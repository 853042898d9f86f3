// What a running endpoint has found out about its Router, asked from its daemon. Implements RUN-46.

import * as Schema from "effect/Schema";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import * as OwnerCall from "./OwnerCall.ts";

const Position = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

const Evidence = Schema.Struct({
  equivocations: Schema.Array(
    Schema.Struct({
      routerInstanceId: Schema.String,
      lane: Schema.String,
      sequence: Position,
      address: Schema.NullOr(Schema.String),
      heads: Schema.Array(Schema.Struct({ laneHead: Schema.String, signature: Schema.String })),
    }),
  ),
  formerRouters: Schema.Array(
    Schema.Struct({
      routerInstanceId: Schema.String,
      reason: Schema.String,
      endedAt: Schema.String,
      cursor: Position,
      tail: Schema.NullOr(Position),
      explanation: Schema.String,
    }),
  ),
});
export type Evidence = typeof Evidence.Type;

const decode = Closed.decoder(Evidence);

export const read = (served: OwnerCall.Served): Promise<Evidence> =>
  OwnerCall.call(served, "/evidence", decode);
