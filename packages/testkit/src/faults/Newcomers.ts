// Traffic for the Registry: new agents that register, each repeating its one request exactly until it is answered, across
// the Registry's deaths. At the end every one of them is found under its name and its id with the card it was given.

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import * as CardValue from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import { makeRegistryClient, type RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import type { NetworkDescription } from "@social-harness/registry/Invite";
import * as Registration from "@social-harness/registry/Registration";
import * as SealingKeys from "@social-harness/router/seal/SealingKeys";
import type { Random } from "../simulation/Random.ts";
import type { Faults } from "./Fault.ts";

export interface Newcomers {
  /** Registers one after the other until `goesOn` says no. */
  readonly arrive: (goesOn: () => boolean) => Promise<void>;
  /** Looks all of them up; the Registry must be running. */
  readonly check: () => Promise<void>;
  readonly count: () => number;
}

export interface NewcomersOptions {
  readonly network: NetworkDescription;
  readonly random: Random;
  readonly faults: Faults;
}

/** The Registry's own limit is far above this. */
const pauseMsMax = 800;
const retryMs = 50;

const isOutage = (error: unknown): boolean =>
  error instanceof RegistryError && (error.reason === "unavailable" || error.reason === "overloaded");

export const create = ({ network, random, faults }: NewcomersOptions): Newcomers => {
  const { registryUrl: url, registryKey } = network;
  const registered: Array<AgentCard> = [];

  const untilAnswered = async <A>(
    client: RegistryClient,
    ask: (client: RegistryClient) => Promise<A>,
  ): Promise<A> => {
    for (;;) {
      try {
        return await ask(client);
      } catch (error) {
        if (!isOutage(error)) throw error;
        await sleep(retryMs);
      }
    }
  };

  const register = async (client: RegistryClient, number: number): Promise<void> => {
    const signer = Ed25519.signerFromSeed(randomBytes(32));
    const registration = Registration.sign(signer, {
      operationId: OperationId.fromBytes(randomBytes(16)),
      principalId: PrincipalId.fromBytes(randomBytes(16)),
      agentName: `newcomer-${number}` as AgentName,
      sealingKey: SealingKeys.fromSeed(randomBytes(32)).publicKey,
      registryKey,
    });
    const answer = await untilAnswered(client, () => client.register(registration, null));
    if (answer.kind === "registered") registered.push(answer.agentCard);
    else faults.add(`newcomer ${number} was answered ${answer.kind}`);
  };

  return {
    arrive: async (goesOn) => {
      const client = makeRegistryClient({ url, registryKey });
      try {
        for (let number = 0; goesOn(); number++) {
          await register(client, number);
          await sleep(random.below(pauseMsMax));
        }
      } catch (error) {
        faults.add(`a newcomer could not register: ${String(error)}`);
      } finally {
        client.close();
      }
    },
    check: async () => {
      // A client of its own: one that has never seen the cards must ask for them.
      const client = makeRegistryClient({ url, registryKey, cachedCardsMax: 1 });
      try {
        for (const card of registered) {
          const byName = await client.lookupByName(card.agentName);
          const byId = await client.lookupById(card.agentId);
          for (const found of [byName, byId]) {
            if (found === null || CardValue.encode(found) !== CardValue.encode(card))
              faults.add(`the Registry lost or changed the card of ${card.agentName}`);
          }
        }
      } finally {
        client.close();
      }
    },
    count: () => registered.length,
  };
};
