// `webhook`: how the webhook of this endpoint does, to its owner, and what the owner can do about it. Implements ING-112.

import type { Command } from "commander";
import { act, define, exampleLines, withState } from "../Command.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withOwnedDaemon, withOwnerPaths } from "../daemon/Running.ts";
import * as WebhookPaths from "../daemon/WebhookPaths.ts";
import { failed } from "../Failure.ts";
import { attemptLines, statusLines } from "../text/Webhooks.ts";

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
      output.result(result, statusLines(output, result).join("\n"));
    }),
  );
};

const attempts = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "attempts",
      summary: "list the last calls of the webhook, the newest first",
      examples: [["webhook attempts", "when, what for, what came of it, and how long it took"]],
    }),
  );
  act<StateOptions, []>(command, async ({ output, options }) => {
    const result = await output.during("Asking the daemon", withOwnerPaths(options, WebhookPaths.attempts));
    output.result(result, attemptLines(result.attempts).join("\n"));
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
    const result = await output.during("Calling the webhook", withOwnerPaths(options, WebhookPaths.test));
    output.result(result, `The callback answered its challenge in ${result.durationMs} ms.`);
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
      const result = await output.during("Asking the daemon", client.call("resume_event_subscription"));
      switch (result.kind) {
        case "resumed":
          return output.result(result, "Resumed: what waits is tried now.");
        case "none":
          throw WebhookPaths.noWebhook();
        case "rejected":
          throw failed(
            "webhook-rejected",
            "the receiver refused a delivery for good, and a resume does not change that",
            "Correct the receiver, then `social-harness webhook revoke` and have its host subscribe again.",
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
