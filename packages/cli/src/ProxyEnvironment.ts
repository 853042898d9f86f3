// Whether Registry and Router are asked through the proxy that the environment names. Node's own switch decides, so that one
// word holds for this program and for every other one under Node. Implements RUN-230 and
// RUN-233.

import process from "node:process";
import type { TroubleKind } from "@social-harness/endpoint/transport/Trouble";

/** What says it: the variable, or the flag of Node, given by hand or in NODE_OPTIONS. */
const isSwitchedOn = (environment: NodeJS.ProcessEnv, flags: ReadonlyArray<string>): boolean =>
  environment["NODE_USE_ENV_PROXY"] === "1" ||
  [...flags, ...(environment["NODE_OPTIONS"] ?? "").split(" ")].includes("--use-env-proxy");

/** What a client takes as its `proxyEnvironment`; nothing without the switch. */
export const read = (
  environment: NodeJS.ProcessEnv = process.env,
  flags: ReadonlyArray<string> = process.execArgv,
): { readonly proxyEnvironment?: NodeJS.ProcessEnv } =>
  isSwitchedOn(environment, flags) ? { proxyEnvironment: environment } : {};

/** What to add to the advice on a service that failed so: a proxy may be the only way to it. Begins with a space, or is empty. */
export const hint = (
  kind: TroubleKind,
  environment: NodeJS.ProcessEnv = process.env,
  flags: ReadonlyArray<string> = process.execArgv,
): string => {
  const named = ["https_proxy", "HTTPS_PROXY"].find((name) => (environment[name] ?? "") !== "");
  // Behind such a proxy a machine's DNS often knows no names of outside.
  const isAway = kind === "unreachable" || kind === "unknown-host";
  return !isAway || named === undefined || isSwitchedOn(environment, flags)
    ? ""
    : ` ${named} is set and was not used: where only that proxy leads there, set NODE_USE_ENV_PROXY=1 for this command and for the daemon.`;
};
