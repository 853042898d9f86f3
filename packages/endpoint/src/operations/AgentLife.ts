// The one agent of an endpoint: unregistered, then bound to a card for good, then active once its protocol is up. Calls to
// register run one after the other and to their end, whoever still waits for them. An activation that failed leaves the
// agent bound; the next call or the next start tries again. Implements MGT-23, MGT-24 and MGT-102 to MGT-105.

import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import type { ActiveAgent } from "../conversations/ActiveAgent.ts";
import { withReasons, withReasonsSync } from "./Failing.ts";
import { OperationError } from "./OperationError.ts";
import type { RegisterInput, RegisterResult, StatusResult } from "./Operations.ts";
import { boundCard, conflictOf, register, type RegisteringOptions } from "./Registration.ts";

export interface AgentLifeOptions<Agent> extends RegisteringOptions {
  /** Brings up the protocol of a bound agent. */
  readonly start: (card: AgentCard) => Promise<Agent>;
  /** The agent is active, and the catalog with it another. */
  readonly onActivated: () => void;
}

export interface AgentLife<Agent> {
  /** Null until the protocol is up. */
  readonly agent: () => Agent | null;
  /** The active agent; throws `not-registered` while there is none. */
  readonly active: () => Agent;
  /** What is bound, from the moment that the binding commits. */
  readonly status: () => StatusResult;
  readonly register: (input: RegisterInput) => Promise<RegisterResult>;
  /** At start: activates what an earlier run has bound. */
  readonly resume: () => Promise<void>;
  /** Resolves when no call to register is under way. Never rejects. */
  readonly settled: () => Promise<void>;
}

export const createAgentLife = <Agent = ActiveAgent>(options: AgentLifeOptions<Agent>): AgentLife<Agent> => {
  const { db, identity } = options;
  let agent: Agent | null = null;
  let registering: Promise<void> = Promise.resolve();

  const activate = async (card: AgentCard): Promise<void> => {
    if (agent !== null) return;
    agent = await options.start(card);
    options.onActivated();
  };

  const registerOnce = (input: RegisterInput): Promise<RegisterResult> =>
    withReasons(async () => {
      const bound = boundCard(db, identity);
      const conflict = bound === null ? null : conflictOf(db, input);
      if (conflict !== null) return { kind: conflict };
      const result: RegisterResult =
        bound === null ? await register(options, input) : { kind: "registered", agentCard: bound };
      if (result.kind === "registered") await activate(result.agentCard);
      return result;
    });

  return {
    agent: () => agent,
    active: () => {
      if (agent !== null) return agent;
      throw new OperationError("not-registered", "this endpoint has no registered agent yet");
    },
    status: () =>
      withReasonsSync(() => {
        const agentCard = boundCard(db, identity);
        return agentCard === null ? { kind: "unregistered" } : { kind: "active", agentCard };
      }),
    register: (input) => {
      const result = registering.then(() => registerOnce(input));
      registering = result.then(
        () => undefined,
        () => undefined,
      );
      return result;
    },
    resume: async () => {
      const card = boundCard(db, identity);
      if (card !== null) await activate(card);
    },
    settled: () => registering,
  };
};
