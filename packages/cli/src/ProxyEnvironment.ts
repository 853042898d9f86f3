// Whether Registry and Router are asked through the proxy that the environment names. Node's own switch decides, so that one
// word holds for this program and for every other one under Node. Implements RUN-230.

import process from "node:process";

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
