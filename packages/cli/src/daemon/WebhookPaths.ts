// How the webhook of a running endpoint does, by its daemon's owner paths: the last attempts, and a test made now.
// Implements ING-112.

import * as Schema from "effect/Schema";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { failed, type Failure } from "../Failure.ts";
import { ofReason } from "./Explain.ts";
import * as OwnerCall from "./OwnerCall.ts";

const bare = <const Kind extends string>(kind: Kind) => Schema.Struct({ kind: Schema.Literal(kind) });

const Attempt = Schema.Struct({
  at: Schema.String,
  purpose: Schema.Literals(["delivery", "challenge", "test"]),
  category: Schema.String,
  statusClass: Schema.NullOr(Schema.Int),
  durationMs: Schema.Int,
});
export type Attempt = typeof Attempt.Type;

const Attempts = Schema.Struct({ attempts: Schema.Array(Attempt) });
export type Attempts = typeof Attempts.Type;

const decodeAttempts = Closed.decoder(Schema.Union([Attempts, bare("failed")]));

const Passed = Schema.Struct({ kind: Schema.Literal("passed"), durationMs: Schema.Int });
export type Passed = typeof Passed.Type;

const decodeTest = Closed.decoder(
  Schema.Union([
    Passed,
    Schema.Struct({
      kind: Schema.Literal("failed"),
      error: Schema.String,
      category: Schema.String,
      statusClass: Schema.NullOr(Schema.Int),
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

export const attempts = async (served: OwnerCall.Served): Promise<Attempts> => {
  const answer = await OwnerCall.call(served, "/webhook/attempts", decodeAttempts);
  if ("attempts" in answer) return answer;
  throw ofReason("persistence-failed");
};

/** The receiver's answer, if it answered at all, as a person says it. */
const causeOf = (category: string, statusClass: number | null): string => {
  if (category === "challenge-failed") return "it answered without the challenge";
  return statusClass === null ? category : `it answered ${statusClass}xx`;
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
      const { error, category, statusClass } = answer;
      throw failed(
        "webhook-failed",
        `the callback did not pass its test: ${causeOf(category, statusClass)}`,
        "Look at the receiver's own log; its secret must be the one of the subscription.",
      ).with({ details: { error, category } });
    }
  }
};
