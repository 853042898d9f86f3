// Taking back an own post of a running endpoint, by its daemon's owner path. Implements RUN-48.

import * as Schema from "effect/Schema";
import * as Address from "@social-harness/protocol/address/Address";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { PostId } from "@social-harness/protocol/identity/Identifier";
import { failed, type Failure } from "../Failure.ts";
import { ofReason } from "./Explain.ts";
import * as OwnerCall from "./OwnerCall.ts";

const bare = <const Kind extends string>(kind: Kind) => Schema.Struct({ kind: Schema.Literal(kind) });
const post = { postId: PostId.schema, address: Address.MessageAddress };

const Withdrawn = Schema.Struct({ kind: Schema.Literal("withdrawn"), ...post });
const Asked = Schema.Struct({
  kind: Schema.Literal("asked"),
  ...post,
  said: Schema.Boolean,
  refusable: Schema.Boolean,
});
const Recovering = Schema.Struct({ kind: Schema.Literal("recovering"), ...post });
const Ended = Schema.Struct({
  kind: Schema.Literal("ended"),
  ...post,
  outcome: Schema.Literals(["certified", "refused", "outcome-unknown"]),
});
type Ended = typeof Ended.Type;

/** What came of it, where it came to something. */
export type Withdrawal = typeof Withdrawn.Type | typeof Asked.Type | typeof Recovering.Type;

const decode = Closed.decoder(
  Schema.Union([
    Withdrawn,
    Asked,
    Recovering,
    Ended,
    bare("unknown-post"),
    bare("not-registered"),
    bare("malformed"),
    bare("failed"),
  ]),
);

const tooLate = ({ outcome, address }: Ended): Failure => {
  switch (outcome) {
    case "certified":
      return failed(
        "already-certified",
        "the post is certified: its members have it",
        `Look at it: \`social-harness history ${address}\`.`,
      );
    case "refused":
      return failed(
        "already-refused",
        "the members refused the post: there is nothing left to withdraw",
        "It was delivered to no one.",
      );
    case "outcome-unknown": {
      const failure = ofReason("outcome-unknown");
      return failure.with({ next: failure.next.replace("<address>", address) });
    }
  }
};

export const withdraw = async (served: OwnerCall.Served, postId: PostId): Promise<Withdrawal> => {
  const answer = await OwnerCall.call(served, "/withdrawals", decode, { postId });
  switch (answer.kind) {
    case "withdrawn":
    case "asked":
    case "recovering":
      return answer;
    case "ended":
      throw tooLate(answer);
    case "unknown-post":
      throw failed(
        "unknown-post",
        "this endpoint never sent a post of that id",
        "Copy the id from what `send` printed.",
      );
    case "not-registered":
      throw ofReason("not-registered");
    case "malformed":
      throw ofReason("incompatible-daemon");
    case "failed":
      throw ofReason("persistence-failed");
  }
};
