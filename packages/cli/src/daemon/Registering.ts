// Registering an agent through an endpoint's own `register` tool, whoever runs that endpoint. Repeating it is safe: an
// endpoint that is already this agent says so, and one that lost the answer asks for the same registration again.

import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import { failed, type Failure } from "../Failure.ts";
import type { DaemonClient } from "./DaemonClient.ts";
import type { Registration } from "./Joining.ts";
import type { ResultOf } from "./ToolResults.ts";

type Refused = Exclude<ResultOf<"register">["kind"], "registered">;

const refusals: Readonly<Record<Refused, (name: string, other: string) => Failure>> = {
  name_taken: (name) =>
    failed("name_taken", `the name ${name} is taken`, "Join again with another --name; the keys are kept."),
  key_already_registered: (_name, other) =>
    failed(
      "key_already_registered",
      "these keys are registered under another name or principal",
      `Join with the name and principal of the first time, or use another ${other}.`,
    ),
  idempotency_conflict: () =>
    failed(
      "idempotency_conflict",
      "another registration was made under this operation id",
      "Delete registration.json in the state folder and join again.",
    ),
  admission_refused: () =>
    failed(
      "admission_refused",
      "the network lets nobody in with this invite: it has no credential, or it is spent or revoked",
      "Ask the network's operator for a fresh one (`network invite create`).",
    ),
};

export interface Registered {
  readonly agentCard: AgentCard;
  /** Whether the Registry was asked: an endpoint that is this agent already needs nobody. */
  readonly asked: boolean;
}

/** `other` is the flag that names another endpoint. */
export const register = async (
  client: DaemonClient,
  registration: Registration,
  admission: string | undefined,
  other: string,
): Promise<Registered> => {
  const before = await client.call("status");
  if (before.kind === "active") {
    if (before.agentCard.agentName === registration.agentName) {
      return { agentCard: before.agentCard, asked: false };
    }
    throw failed(
      "already-registered",
      `this endpoint is ${before.agentCard.agentName}, and an endpoint is one agent for good`,
      `Use another ${other} for another agent.`,
    );
  }
  const result = await client.call("register", {
    ...registration,
    ...(admission === undefined ? {} : { admission }),
  });
  if (result.kind === "registered") return { agentCard: result.agentCard, asked: true };
  throw refusals[result.kind](registration.agentName, other);
};
