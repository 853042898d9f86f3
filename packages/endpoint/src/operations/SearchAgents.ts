// search_agents: the Registry's lookups and lists, verified by its client, within one deadline. Implements MGT-30 and MGT-31.

import * as Limits from "@social-harness/protocol/Limits";
import type { RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { withReasons } from "./Failing.ts";
import type { SearchAgentsInput, SearchAgentsResult } from "./Operations.ts";

export const searchAgents = (
  registry: RegistryClient,
  input: SearchAgentsInput,
): Promise<SearchAgentsResult> =>
  withReasons(async () => {
    const call = { deadlineMs: Limits.registryDeadlineMs };
    if ("agentId" in input || "agentName" in input) {
      const agentCard =
        "agentId" in input
          ? await registry.lookupById(input.agentId, call)
          : await registry.lookupByName(input.agentName, call);
      return agentCard === null ? { kind: "not_found" } : { kind: "found", agentCard };
    }
    const { agentCards, hasMore } = await registry.list(input, call);
    return { kind: "page", agentCards, hasMore };
  });
