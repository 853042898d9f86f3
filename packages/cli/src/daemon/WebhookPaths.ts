// How the webhook of a running endpoint does, by its daemon's owner paths: the last attempts, and a test made now.
// Implements ING-112 and ING-206.

import * as Schema from "effect/Schema";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { errors } from "@social-harness/endpoint/operations/EventSubscription";
import { failed, type Failure } from "../Failure.ts";
import { failureOf } from "../text/WebhookFailures.ts";
import { ofReason } from "./Explain.ts";
import * as OwnerCall from "./OwnerCall.ts";

const bare = <const Kind extends string>(kind: Kind) => Schema.Struct({ kind: Schema.Literal(kind) });

const Attempt = Schema.Struct({
  at: Schema.String,
  purpose: Schema.Literals(["delivery", "challenge", "test"]),
  category: Schema.String,
  status: Schema.NullOr(Schema.Int),
  eventId: Schema.NullOr(Schema.String),
  durationMs: Schema.Int,
});

const decodeAttempts = Closed.decoder(
  Schema.Union([Schema.Struct({ attempts: Schema.Array(Attempt) }), bare("failed")]),
);

export interface Attempts {
  /** The newest last, where a terminal stands. */
  readonly attempts: ReadonlyArray<typeof Attempt.Type>;
  /** How many more the daemon has. */
  readonly earlier: number;
}

const Passed = Schema.Struct({ kind: Schema.Literal("passed"), durationMs: Schema.Int });
export type Passed = typeof Passed.Type;

const decodeTest = Closed.decoder(
  Schema.Union([
    Passed,
    Schema.Struct({
      kind: Schema.Literal("failed"),
      error: Schema.Literals(errors),
      category: Schema.String,
      status: Schema.NullOr(Schema.Int),
      durationMs: Schema.Int,
    }),
    bare("none"),
    bare("malformed"),
    // What the daemon says when it could not do it at all.
    bare("failed"),
  ]),
);

export const noWebhook = (): Failure =>
  failed(
    "no-webhook",
    "no webhook is registered here",
    "A host subscribes one with `events/subscribe`, in credentials mode.",
  );

/** The last ones, `limit` at most. */
export const attempts = async (served: OwnerCall.Served, limit: number): Promise<Attempts> => {
  const answer = await OwnerCall.call(served, "/webhook/attempts", decodeAttempts);
  if (!("attempts" in answer)) throw ofReason("persistence-failed");
  const shown = answer.attempts.slice(0, limit).toReversed();
  return { attempts: shown, earlier: answer.attempts.length - shown.length };
};

/** Throws a `Failure` unless the callback has answered its challenge. */
export const test = async (served: OwnerCall.Served): Promise<Passed> => {
  const answer = await OwnerCall.call(served, "/webhook/test", decodeTest, {});
  switch (answer.kind) {
    case "passed":
      return answer;
    case "none":
      throw noWebhook();
    case "malformed":
      throw ofReason("incompatible-daemon");
    case "failed": {
      if (!("error" in answer)) throw ofReason("persistence-failed");
      const { error, category, status } = answer;
      const { what, next } = failureOf(error, status);
      throw failed("webhook-failed", `the callback did not pass its test: ${what}`, next).with({
        details: { error, category, ...(status === null ? {} : { status: `${status}` }) },
      });
    }
  }
};
