// What the official tools are pointed at: a real network with two registered endpoints, the first of which is reached as it
// is, and once more in credentials mode through a proxy for each of its two tokens.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as EndpointFile from "@social-harness/endpoint/state/EndpointFile";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import * as Schema from "effect/Schema";
import * as Child from "../../packages/cli/src/lab/Child.ts";
import type { CleanUp } from "../../packages/cli/src/lab/Interruptible.ts";
import * as Lab from "../../packages/cli/src/lab/Lab.ts";
import * as HeaderProxy from "./HeaderProxy.ts";

export interface Subject {
  /** How reports call it. */
  readonly name: string;
  readonly url: string;
}

const credentialsMode = "credentials";

/** Whether this daemon has the other mode at all. */
const knowsCredentials = (): boolean => Schema.is(Configuration.schema.fields.mode)(credentialsMode);

const mcpUrlOf = (state: string): string => {
  const endpoint = EndpointFile.read(StateFolder.at(state));
  if (endpoint === null) throw new Error(`no endpoint runs on ${state}`);
  return endpoint.mcpUrl;
};

/** Restarts the endpoint in credentials mode and puts each of its tokens into a proxy of its own. */
const withTokens = async (agent: Lab.LabAgent, cleanUp: CleanUp): Promise<ReadonlyArray<Subject>> => {
  await agent.stop();
  const mode = ["--mode", credentialsMode];
  const daemon = await Child.start(["daemon", "--state", agent.state, "--port", "0", "--json", ...mode]);
  cleanUp(async () => void (await daemon.stop()));
  const target = new URL(mcpUrlOf(agent.state));
  const subjects: Array<Subject> = [];
  for (const credential of ["owner", "runtime"]) {
    const token = readFileSync(join(agent.state, `${credential}-token`), "utf8");
    const proxy = await HeaderProxy.start(target, ["authorization", `Bearer ${token}`]);
    cleanUp(proxy.close);
    subjects.push({ name: `credentials mode, ${credential} token`, url: proxy.url });
  }
  return subjects;
};

/**
 * Runs `visit` for the endpoint in each mode that it knows, one after another; an endpoint has one mode at a time. Says so
 * when there is only one.
 */
export const visitAll = async (
  cleanUp: CleanUp,
  visit: (subject: Subject) => Promise<void>,
): Promise<void> => {
  const lab = await Lab.open(
    ["alice", "bob"].map((name) => Schema.decodeSync(AgentName.schema)(name)),
    cleanUp,
  );
  const agent = lab.agent("alice");
  await visit({ name: "trusted-local mode", url: mcpUrlOf(agent.state) });
  if (!knowsCredentials()) {
    process.stdout.write("credentials mode: skipped, because this daemon does not know it\n");
    return;
  }
  for (const subject of await withTokens(agent, cleanUp)) await visit(subject);
};
