// Which names of an address the Registry does not know, where a daemon says that there is one. Over MCP a failure repeats
// nothing that was asked, so each name is looked up by itself. Implements RUN-82.

import { Failure } from "../Failure.ts";
import type { DaemonClient } from "./DaemonClient.ts";

const unknownOf = async (client: DaemonClient, address: string): Promise<ReadonlyArray<string>> => {
  const unknown: Array<string> = [];
  for (const agentName of address.slice(address.indexOf(":") + 1).split(",")) {
    const found = await client.call("search_agents", { agentName });
    if (found.kind === "not_found") unknown.push(agentName);
  }
  return unknown;
};

/** Does `work`, and names those whom it fails for with `unknown-agent`. Without the Registry the failure stays as it is. */
export const namingUnknown = async <A>(
  client: DaemonClient,
  address: string,
  work: () => Promise<A>,
): Promise<A> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || error.reason !== "unknown-agent") throw error;
    const names = await unknownOf(client, address).catch(() => []);
    if (names.length === 0) throw error;
    throw error.with({ message: `the Registry knows no agent of the name ${names.join(", ")}` });
  }
};
