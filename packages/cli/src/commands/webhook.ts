// `webhook`: how the webhook of this endpoint does, to its owner, and what the owner can do about it. Implements ING-112 and
// ING-200.

import type { Command } from "commander";
import * as Limits from "@social-harness/endpoint/webhooks/Limits";
import { act, define, exampleLines, wholeNumber, withState } from "../Command.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withOwnedDaemon, withOwnerPaths } from "../daemon/Running.ts";
import * as WebhookPaths from "../daemon/WebhookPaths.ts";
import { failed } from "../Failure.ts";
import { attemptLines, passedLine, resumedLine, statusLines } from "../text/Webhooks.ts";

/** Of attempts: as many as a person reads at once. */
const limitDefault = 20;

const status = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "status",
      summary: "show whether a webhook is registered and whether deliveries arrive",
      examples: [
        ["webhook status", "its state, lease and last failure"],
        ["webhook status --json", "for a program; neither its URL nor its secret is shown"],
      ],
    }),
  );
  act<StateOptions, []>(command, ({ output, options }) =>
    withOwnedDaemon(options, async ({ client }) => {
      const result = await output.during("Asking the daemon", client.call("event_subscription_status"));
      output.result(result, statusLines(output, result, options).join("\n"));
    }),
  );
};

const attempts = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "attempts",
      summary: "list the last calls of the webhook, the newest last",
      examples: [
        ["webhook attempts", "when, what for, what came of it, how long it took, and of which event"],
        ["webhook attempts --limit 100", "more of them"],
      ],
    }),
  ).option("--limit <n>", "how many at most", wholeNumber(1, Limits.attemptsKept), limitDefault);
  act<StateOptions & { readonly limit: number }, []>(command, async ({ output, options }) => {
    const asked = withOwnerPaths(options, (served) => WebhookPaths.attempts(served, options.limit));
    const result = await output.during("Asking the daemon", asked);
    output.result(result, attemptLines(result).join("\n"));
  });
};

const test = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "test",
      summary: "have the webhook answer a signed challenge now; no item is sent",
      examples: [["webhook test", "exit code 0 when its receiver verified the signature and answered"]],
    }),
  );
  act<StateOptions, []>(command, async ({ output, options }) => {
    const asked = withOwnerPaths(options, async (served) => {
      const { durationMs } = await WebhookPaths.test(served);
      return { durationMs, isResting: served.mode === "trusted-local" };
    });
    const { durationMs, isResting } = await output.during("Calling the webhook", asked);
    output.result({ kind: "passed", durationMs }, passedLine(durationMs, isResting));
  });
};

const revoke = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "revoke",
      summary: "end the webhook, whatever state it is in; its items stay in the inbox",
      examples: [["webhook revoke", "then another callback can be subscribed"]],
    }),
  );
  act<StateOptions, []>(command, ({ output, options }) =>
    withOwnedDaemon(options, async ({ client }) => {
      const result = await output.during("Asking the daemon", client.call("revoke_event_subscription"));
      output.result(result, result.kind === "revoked" ? "Revoked." : "No webhook was registered.");
    }),
  );
};

const resume = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "resume",
      summary: "try a suspended or failing webhook again at once",
      examples: [["webhook resume", "after its receiver was mended"]],
    }),
  );
  act<StateOptions, []>(command, ({ output, options }) =>
    withOwnedDaemon(options, async ({ client }) => {
      const before = await output.during("Asking the daemon", client.call("event_subscription_status"));
      const result = await output.during("Asking the daemon", client.call("resume_event_subscription"));
      switch (result.kind) {
        case "resumed":
          return output.result(result, resumedLine(before.kind === "none" ? 0 : before.waitingItems));
        case "none":
          throw WebhookPaths.noWebhook();
        case "rejected":
          throw failed(
            "webhook-rejected",
            "the receiver refused a delivery for good, and a resume does not change that",
            "Correct the receiver, then `social-harness webhook revoke` and have its host subscribe again.",
          );
        case "resting":
          throw failed(
            "webhook-resting",
            "nothing is delivered in mode trusted-local, and a resume does not change that",
            'Start the daemon with --mode credentials, or put "mode": "credentials" into config.json.',
          );
        case "expired":
          throw failed(
            "webhook-expired",
            "the webhook's lease has ended",
            "Its host has to subscribe again; then what waits is delivered.",
          );
      }
    }),
  );
};

export const webhook = (parent: Command): void => {
  const command = parent
    .command("webhook")
    .description("see and steer the webhook that receives this endpoint's items")
    .addHelpText(
      "after",
      exampleLines([
        ["webhook status", "how it stands"],
        ["webhook test", "whether its receiver answers"],
      ]),
    );
  status(command);
  attempts(command);
  test(command);
  revoke(command);
  resume(command);
};
