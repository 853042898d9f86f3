// One agent in a process of its own, so that a test can kill it. Takes requests as JSON lines on stdin and answers each
// with one JSON line on stdout; the first line says that it is up. Argument: the options of `openAgent` as JSON.

import { createInterface } from "node:readline";
import * as ContactPolicy from "@social-harness/endpoint/conversations/ContactPolicy";
import * as Firewall from "@social-harness/endpoint/firewall/Firewall";
import * as Health from "@social-harness/endpoint/operations/Health";
import { type NetworkAgentOptions, openAgent } from "./NetworkAgent.ts";

export type Request =
  | { readonly kind: "send"; readonly to: string; readonly text: string; readonly idempotencyKey?: string }
  | { readonly kind: "texts" }
  | { readonly kind: "failed" }
  | { readonly kind: "restored" }
  | { readonly kind: "close" };

export interface Asked {
  readonly id: number;
  readonly request: Request;
}

export interface Answer {
  readonly id: number;
  /** JSON of the result, or the reason of its failure. */
  readonly result?: unknown;
  readonly failure?: string;
}

const say = (value: Answer | { readonly up: true }): void =>
  void process.stdout.write(JSON.stringify(value) + "\n");

const agent = await openAgent(JSON.parse(process.argv[2] as string) as NetworkAgentOptions);

const answer = async (request: Request): Promise<unknown> => {
  switch (request.kind) {
    case "send": {
      const { to, text, idempotencyKey } = request;
      return agent.send(to, text, idempotencyKey === undefined ? {} : { idempotencyKey });
    }
    case "texts":
      return agent.texts();
    case "failed":
      return agent.items().flatMap(({ item }) => (item.kind === "operationFailed" ? [item] : []));
    case "restored":
      return Health.read({
        db: agent.db,
        agent: agent.agent,
        contactPolicy: ContactPolicy.open,
        network: { registryUrl: "", routerUrl: "" },
        firewall: Firewall.none,
        webhook: { kind: "none" },
        storeTrouble: null,
        now: Date.now(),
      }).restored;
    case "close":
      return agent.close();
  }
};

say({ up: true });
// A closed stdin is a test that is gone: nothing may outlive it.
for await (const line of createInterface({ input: process.stdin })) {
  const { id, request } = JSON.parse(line) as Asked;
  void answer(request).then(
    (result) => say({ id, result: result ?? null }),
    (error: unknown) => say({ id, failure: String(error) }),
  );
}
process.exit();
