// A look-up as a process of its own, for tests of the environment. Arguments: URL, pinned key, name. Prints the agent id.

import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";

const [url = "", registryKey = "", name = ""] = process.argv.slice(2);
const client = makeRegistryClient({ url, registryKey: registryKey as SigningKey });
process.stdout.write((await client.lookupByName(name as AgentName))?.agentId ?? "nobody");
client.close();
