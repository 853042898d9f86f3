// What the AI SDK's receiver stands before: a real network with two registered endpoints, of which alice's runs in
// credentials mode with a host on the AI SDK that subscribes with the runtime's token, and bob's sends.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import * as Schema from "effect/Schema";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import type { DaemonClient } from "../../packages/cli/src/daemon/DaemonClient.ts";
import * as Located from "../../packages/cli/src/daemon/Located.ts";
import { withOwnedDaemon } from "../../packages/cli/src/daemon/Running.ts";
import * as Child from "../../packages/cli/src/lab/Child.ts";
import type { CleanUp } from "../../packages/cli/src/lab/Interruptible.ts";
import * as Lab from "../../packages/cli/src/lab/Lab.ts";
import * as AiSdk from "./AiSdk.ts";
import * as HttpsReceiver from "./HttpsReceiver.ts";

/** How the host behind the receiver does: what it answers instead of the package, and what its own work comes to. */
export interface Host {
  /** A status for every request of this kind, sent before the package sees it. */
  answersInstead: { readonly kind: "verification" | "event"; readonly status: number } | null;
  /** `loses` breaks before its work is kept, `keeps` after it; the package answers 503 to both. */
  work: "succeeds" | "loses" | "keeps";
}

export interface Scene {
  readonly client: AiSdk.Client;
  readonly store: ReturnType<typeof AiSdk.memoryStore>;
  readonly handler: (request: Request) => Promise<Response>;
  readonly receiver: HttpsReceiver.HttpsReceiver;
  readonly host: Host;
  /** What the host's own handler has kept. */
  readonly kept: ReadonlyArray<AiSdk.Event>;
  readonly send: (text: string) => Promise<unknown>;
  /** As the owner of the endpoint that is subscribed to. */
  readonly own: <A>(work: (client: DaemonClient) => Promise<A>) => Promise<A>;
}

/** As a careful host does it: by the schema that the endpoint published. */
const validatePayload = (payload: {
  readonly definition: AiSdk.EventDefinition;
  readonly data: AiSdk.Json;
}) => {
  const { payloadSchema } = payload.definition;
  const { errorMessage } = new AjvJsonSchemaValidator().getValidator(payloadSchema)(payload.data);
  if (errorMessage !== undefined) throw new TypeError(errorMessage);
};

export const open = async (cleanUp: CleanUp): Promise<Scene> => {
  const { createMCPClient, experimental_createMCPEventWebhook } = await AiSdk.load();
  const names = ["alice", "bob"].map((name) => Schema.decodeSync(AgentName.schema)(name));
  const lab = await Lab.open(names, cleanUp);
  const { state, stop } = lab.agent("alice");
  const bob = await lab.agent("bob").client();

  const store = AiSdk.memoryStore();
  const kept: Array<AiSdk.Event> = [];
  const host: Host = { answersInstead: null, work: "succeeds" };
  const handler = experimental_createMCPEventWebhook({
    store,
    validatePayload,
    onEvent: async ({ event }) => {
      if (host.work !== "loses") kept.push(event);
      if (host.work !== "succeeds") throw new Error("the host broke");
    },
  });
  const receiver = await HttpsReceiver.start(handler, (kind) =>
    host.answersInstead?.kind === kind ? host.answersInstead.status : null,
  );
  cleanUp(receiver.close);

  await stop();
  const allowed = {
    addresses: ["127.0.0.1"],
    certificateAuthority: HttpsReceiver.certificateAuthority,
  };
  writeFileSync(join(state, "test-callbacks.json"), JSON.stringify(allowed), { mode: 0o600 });
  const mode = ["--mode", "credentials", "--allow-test-callbacks"];
  const daemon = await Child.start(["daemon", "--state", state, "--port", "0", "--json", ...mode]);
  cleanUp(async () => void (await daemon.stop()));
  const token = readFileSync(join(state, "runtime-token"), "utf8");
  const client = await createMCPClient({
    transport: {
      type: "http",
      url: (await Located.reach({ state })).mcpUrl,
      headers: { authorization: `Bearer ${token}` },
    },
    experimental_events: { store },
  });
  cleanUp(() => client.close());
  return {
    client,
    store,
    handler,
    receiver,
    host,
    kept,
    send: (text) => bob.call("send_message", { input: { to: "agent:alice", text } }),
    own: (work) => withOwnedDaemon({ state }, ({ client: owner }) => work(owner)),
  };
};
