// The network's two services as this machine reaches them, with no daemon in between: the Registry under the pinned key, the
// Router's address, and the clock against what both of them say.

import type { Identity } from "@social-harness/endpoint/state/Identity";
import type { Configuration } from "@social-harness/endpoint/state/Configuration";
import * as RouterStanding from "@social-harness/endpoint/transport/RouterStanding";
import * as Trouble from "@social-harness/endpoint/transport/Trouble";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import { look } from "@social-harness/router/client/Look";
import { joinFirst } from "../daemon/Profile.ts";
import * as ProxyEnvironment from "../ProxyEnvironment.ts";
import { broken, type Finding, ok, skipped, warning } from "./Finding.ts";
import { ways } from "../daemon/LostStore.ts";

const answerMsMax = 10_000;
/** A minute shows in dates that people compare; what hurts is hours. */
const skewMsMax = 60_000;

const troubled = (check: "registry" | "router", error: unknown): Finding => {
  const service = check === "registry" ? "Registry" : "Router";
  const trouble = Trouble.of(error) ?? { kind: "unreachable", detail: "no answer" };
  const advice = `${Trouble.remedy(service, trouble.kind)}${ProxyEnvironment.hint(trouble.kind)}`;
  return broken(check, Trouble.explain(service, trouble), advice);
};

/** `registered`: whether this store has an agent. */
const registryOf = async (
  { registryUrl, registryKey }: Configuration,
  { signingKey }: Identity,
  registered: boolean | null,
): Promise<Finding> => {
  const registry = makeRegistryClient({ url: registryUrl, registryKey, ...ProxyEnvironment.read() });
  try {
    const card = await registry.lookupById(AgentCard.agentIdOf(signingKey), { deadlineMs: answerMsMax });
    if (card !== null && registered === false) {
      return broken(
        "registry",
        `it knows this folder's keys as ${card.agentName}, and the store does not: the store was lost, or a join did not end`,
        ways(card.agentName),
      );
    }
    if (card !== null) return ok("registry", `it answers under the pinned key and knows ${card.agentName}`);
    return registered === true
      ? broken(
          "registry",
          "it answers under the pinned key and does not know this agent, which it has registered",
          "Tell the network's operator that the Registry has lost names; conversations that exist go on.",
        )
      : warning("registry", "it answers under the pinned key, and this agent is not registered", joinFirst);
  } catch (error) {
    if (error instanceof RegistryError) return troubled("registry", error);
    throw error;
  } finally {
    registry.close();
  }
};

/** An answer of a service, and by how much its clock is ahead of this one (milliseconds; null where it says none). */
interface Reached {
  readonly skewMs: number | null;
}

/** Whatever it answers, it is there; what it says about itself is told by whoever speaks its protocol. */
const reach = async (url: string): Promise<Reached> => {
  const target = new URL(url.replace(/^ws/, "http"));
  target.pathname = `${target.pathname.replace(/\/$/, "")}/readyz`;
  const before = Date.now();
  const answer = await fetch(target, { redirect: "manual", signal: AbortSignal.timeout(answerMsMax) });
  await answer.body?.cancel();
  const said = Date.parse(answer.headers.get("date") ?? "");
  // A date of a header has whole seconds, and was written somewhere between asking and now.
  return { skewMs: Number.isNaN(said) ? null : said + 500 - (before + Date.now()) / 2 };
};

/** By how much the services' clocks are ahead of this one's, in milliseconds. */
export const clockOf = (skews: ReadonlyArray<number>): Finding => {
  const [first] = skews;
  if (first === undefined) return skipped("clock", "neither Registry nor Router said what time it is");
  const worst = skews.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), first);
  const seconds = Math.round(Math.abs(worst) / 1_000);
  if (Math.abs(worst) <= skewMsMax) return ok("clock", "it agrees with the network's to a minute");
  return warning(
    "clock",
    `it is ${seconds} seconds ${worst > 0 ? "behind" : "ahead of"} the network's`,
    "Set this machine's clock, by its time service: dates and the lifetimes of posts go by it.",
  );
};

/** Told by its first word: what else answers there is no Router, or another network's. */
const routerOf = async ({ routerUrl, routerKey }: Configuration): Promise<Finding> => {
  const options = { url: routerUrl, routerKey, deadlineMs: answerMsMax, ...ProxyEnvironment.read() };
  const sight = await look(options);
  switch (sight.kind) {
    case "router":
      return ok("router", "a Router answers at its address under the pinned key");
    case "wrong-router-key":
      return broken(
        "router",
        "a Router answers at its address under another key than the pinned one",
        RouterStanding.remedyOf(sight.kind),
      );
    case "refused":
      return broken(
        "router",
        `a Router answers at its address and refuses (${sight.reason})`,
        RouterStanding.remedyOf(sight.reason),
      );
    case "none":
      return troubled("router", sight.cause);
  }
};

const addressOf = async (url: string): Promise<Reached | Error> => {
  try {
    return await reach(url);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
};

export const examine = async (
  configuration: Configuration | null,
  identity: Identity | null,
  registered: boolean | null,
): Promise<ReadonlyArray<Finding>> => {
  if (configuration === null || identity === null) {
    const why = "it takes keys and a configuration to ask";
    return [skipped("registry", why), skipped("router", why), skipped("clock", why)];
  }
  const [registry, router, byRegistry, byRouter] = await Promise.all([
    registryOf(configuration, identity, registered),
    routerOf(configuration),
    addressOf(configuration.registryUrl),
    addressOf(configuration.routerUrl),
  ]);
  const skews = [byRegistry, byRouter].flatMap((one) =>
    one instanceof Error || one.skewMs === null ? [] : [one.skewMs],
  );
  return [registry, router, clockOf(skews)];
};
