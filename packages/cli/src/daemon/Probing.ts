// Having a running endpoint send a question that goes the whole way and leaves nothing behind. Implements RUN-192.

import * as Schema from "effect/Schema";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { ofReason } from "./Explain.ts";
import * as OwnerCall from "./OwnerCall.ts";

const bare = <const Kind extends string>(kind: Kind) => Schema.Struct({ kind: Schema.Literal(kind) });

const Returned = Schema.Struct({ kind: Schema.Literal("returned"), milliseconds: Schema.Number });

const decode = Closed.decoder(
  Schema.Union([
    Returned,
    bare("not-connected"),
    bare("silent"),
    bare("no-conversation"),
    bare("not-registered"),
    bare("malformed"),
    bare("failed"),
  ]),
);

export type Trip = typeof Returned.Type | { readonly kind: "not-connected" | "silent" | "no-conversation" };

/** To the named agent, or by the endpoint to itself. */
export const probe = async (served: OwnerCall.Served, agentName?: string): Promise<Trip> => {
  const answer = await OwnerCall.call(
    served,
    "/probes",
    decode,
    agentName === undefined ? {} : { agentName },
  );
  switch (answer.kind) {
    case "returned":
    case "not-connected":
    case "silent":
    case "no-conversation":
      return answer;
    case "not-registered":
      throw ofReason("not-registered");
    case "malformed":
      throw ofReason("incompatible-daemon");
    case "failed":
      throw ofReason("persistence-failed");
  }
};
