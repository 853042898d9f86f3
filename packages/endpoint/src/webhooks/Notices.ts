// What the log is told of the registration, and with it whoever looks on at the daemon: a warning for each trouble when it begins
// or is found at a start, a line when it is over, and who granted, replaced and ended what. Knows the last trouble that it told,
// so that nothing is told twice and no trouble stays the last word. Implements ING-202.

import type { Logger } from "@social-harness/router/Logger";
import type { DeliveryError } from "../operations/EventSubscription.ts";
import type { Failing, Standing, State } from "./LifeCycle.ts";
import type { Registration } from "./Registration.ts";

type Trouble = Exclude<State, "none" | "active">;

export interface Notices {
  /** As it stands after a change, or at a start. `recovery` says what ended a trouble, if that is what it did. */
  readonly stands: (standing: Standing, recovery: string) => void;
  /** At a start in a mode that delivers nothing. */
  readonly rests: () => void;
  readonly granted: (before: Registration | null, after: Registration) => void;
  readonly ended: (registration: Registration, kind: "revoked" | "unsubscribed") => void;
}

const events: Readonly<Record<Trouble, string>> = {
  retrying: "a webhook delivery failed",
  suspended: "the webhook receives nothing more",
  rejected: "the webhook receives nothing more",
  expired: "the webhook receives nothing more",
};

const whys: Readonly<Record<DeliveryError, string>> = {
  connection_refused: "nobody answered there, or the connection broke off",
  timeout: "it did not answer in time",
  tls_error: "it has no certificate that proves its name",
  http_3xx: "it redirects, and no redirect is followed",
  http_4xx: "it refused",
  http_5xx: "it failed",
  challenge_failed: "it did not return its challenge",
  address_refused: "its host leads to an address where no callback goes",
  dns_failed: "its host's name leads nowhere",
};

const whyOf = (failing: Failing | null): string => {
  if (failing === null) return "it failed";
  return failing.status === null ? whys[failing.error] : `${whys[failing.error]} (HTTP ${failing.status})`;
};

const explain = (trouble: Trouble, failing: Failing | null): string => {
  switch (trouble) {
    case "retrying":
      return `${whyOf(failing)}; it goes out again by itself, and \`social-harness webhook status\` says when`;
    case "suspended":
      return `its deliveries have failed for an hour: ${whyOf(failing)}; \`social-harness webhook resume\` tries again`;
    case "rejected":
      return `${whyOf(failing)}, which is for good; correct the receiver, then \`social-harness webhook revoke\` and have its host subscribe again`;
    case "expired":
      return "its lease ended without a refresh; have its host subscribe again, or end it with `social-harness webhook revoke`";
  }
};

export const create = (logger: Logger): Notices => {
  let told: Trouble | null = null;

  const stands: Notices["stands"] = ({ state, failing }, recovery) => {
    switch (state) {
      case "none":
        return;
      case "active":
        if (told !== null) logger("info", "the webhook goes on", { explanation: recovery });
        told = null;
        return;
      case "retrying":
      case "suspended":
      case "rejected":
      case "expired":
        if (told === state) return;
        told = state;
        logger("warn", events[state], { explanation: explain(state, failing) });
    }
  };

  return {
    stands,
    rests: () =>
      logger("warn", "the webhook rests: nothing is delivered", {
        explanation:
          'mode trusted-local delivers to none; start with --mode credentials, or put "mode": "credentials" into config.json, or end it with `social-harness webhook revoke`',
      }),
    granted: (before, after) => {
      const { subscriptionId } = after;
      if (before === null) logger("info", "a webhook was subscribed", { subscriptionId });
      else if (before.secret !== after.secret) {
        logger("info", "the webhook's secret was replaced", { subscriptionId });
      }
      stands(after.standing, "its host has subscribed again");
    },
    ended: ({ subscriptionId }, kind) => {
      told = null;
      logger("info", `the webhook was ${kind}`, { subscriptionId });
    },
  };
};
