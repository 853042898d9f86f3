// Having a conversation of a running endpoint go on in a new round, by its daemon's owner path. Implements RUN-45.

import * as Schema from "effect/Schema";
import * as Address from "@social-harness/protocol/address/Address";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { ConversationId } from "@social-harness/protocol/identity/Identifier";
import { failed } from "../Failure.ts";
import { ofReason } from "./Explain.ts";
import * as OwnerCall from "./OwnerCall.ts";

const bare = <const Kind extends string>(kind: Kind) => Schema.Struct({ kind: Schema.Literal(kind) });

const Wished = Schema.Struct({
  kind: Schema.Literal("wished"),
  conversationId: ConversationId.schema,
  address: Address.MessageAddress,
  currentRound: Schema.Int,
  round: Schema.Int,
  again: Schema.Boolean,
  wishesToJoin: Schema.Int,
  wishesNeeded: Schema.Int,
  said: Schema.Boolean,
});
export type Wished = typeof Wished.Type;

const decode = Closed.decoder(
  Schema.Union([
    Wished,
    bare("unknown-conversation"),
    bare("not-registered"),
    bare("malformed"),
    bare("failed"),
  ]),
);

export type Conversation =
  { readonly address: Address.MessageAddress } | { readonly conversationId: ConversationId };

export const wishRound = async (served: OwnerCall.Served, conversation: Conversation): Promise<Wished> => {
  const answer = await OwnerCall.call(served, "/rounds", decode, conversation);
  switch (answer.kind) {
    case "wished":
      return answer;
    case "unknown-conversation":
      throw failed(
        "unknown-conversation",
        "this endpoint has no such conversation",
        "List what there is: `social-harness history`.",
      );
    case "not-registered":
      throw ofReason("not-registered");
    case "malformed":
      throw ofReason("incompatible-daemon");
    case "failed":
      throw ofReason("persistence-failed");
  }
};
