// How the daemon stands with its Router, with what mends the very trouble that it names. Implements RUN-274.

import { remedyOf } from "@social-harness/endpoint/transport/RouterStanding";
import type { Health } from "../daemon/Readiness.ts";
import { broken, type Finding, ok, skipped } from "./Finding.ts";

/** The daemon ends a connection whose deliveries it cannot keep, and makes none while that is so. */
const ofStore = (explanation: string): Finding =>
  broken(
    "connection",
    `the daemon is not connected to the Router, because its store cannot do its work: ${explanation}`,
    "Mend the store, and it connects by itself: docs/operations.md has the table of what helps.",
  );

/** The daemon's own words end with the advice where waiting does not help; here it stands beside them. */
const ofTrouble = ({ reason, explanation }: NonNullable<Health["routerTrouble"]>): Finding => {
  const next = remedyOf(reason);
  const why = explanation.endsWith(`. ${next}`) ? explanation.slice(0, -next.length - 2) : explanation;
  return broken("connection", `the daemon is not connected to the Router: ${why}`, next);
};

export const connectionOf = (health: Health): Finding => {
  const { registered, routerConnected, routerSince, routerTrouble, routerRefusing, storeTrouble } = health;
  if (!registered) return skipped("connection", "no agent is registered");
  if (routerConnected && routerRefusing !== null) {
    return broken(
      "connection",
      "the daemon is connected, and the Router refuses every post as unavailable",
      "Posts wait and go out by themselves. Tell the network's operator: the Router's disk may be full.",
    );
  }
  if (routerConnected) return ok("connection", `connected to the Router since ${routerSince}`);
  if (storeTrouble !== null) return ofStore(storeTrouble.explanation);
  if (routerTrouble !== null) return ofTrouble(routerTrouble);
  return broken(
    "connection",
    "the daemon is not connected to the Router: it is still trying",
    "Look again in a few seconds.",
  );
};
