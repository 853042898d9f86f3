import * as fc from "fast-check";
import { expect } from "vitest";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { makeRegistryState } from "@social-harness/registry/RegistryState";
import { timestampOf } from "@social-harness/registry/Timestamp";
import { verifies } from "@social-harness/testkit/Verifies";
import { agentOf, bytesOf, registrySigner } from "./TestNetwork.ts";

const letters = "ab1-";
const name = fc
  .string({ unit: fc.constantFrom(...letters), minLength: 3, maxLength: 6 })
  .filter((text) => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(text));
const prefix = fc.string({ unit: fc.constantFrom(...letters), maxLength: 3 });

/** Signing a card costs more than the property: unsigned ones do, the state never looks at signatures. */
const cardOf = (agentName: string): AgentCard.AgentCard => {
  const { registration, signer } = agents.get(agentName) ?? agentOf(agentName);
  agents.set(agentName, { registration, signer });
  return {
    kind: "agent_card",
    agentId: AgentCard.agentIdOf(signer.publicKey),
    principalId: registration.principalId,
    agentName: registration.agentName,
    signingKey: registration.signingKey,
    sealingKey: registration.sealingKey,
    registryKey: registrySigner.publicKey,
    issuedAt: timestampOf(0),
    keySignature: registration.keySignature,
    signature: registration.signature,
  };
};
const agents = new Map<string, Pick<ReturnType<typeof agentOf>, "registration" | "signer">>();

verifies(
  "IDN-31",
  "a page is what filtering and sorting all names would give, in any order of arrival",
  () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { maxLength: 30 }),
        fc.array(fc.tuple(prefix, fc.option(name, { nil: "" })), { maxLength: 8 }),
        (names, questions) => {
          const state = makeRegistryState(registrySigner.publicKey);
          for (const [index, each] of names.entries()) {
            const { operationId } = agentOf("any").wish;
            const requestHash = Opaque32.fromBytes(bytesOf(each, 32));
            const agentCard = cardOf(each);
            state.apply({ kind: "identity", operationId, requestHash, inviteId: null, agentCard });
            const [start, after] = questions[index % Math.max(1, questions.length)] ?? ["", ""];
            const expected = names
              .slice(0, index + 1)
              .filter((one) => one > after && one.startsWith(start))
              .toSorted();
            const page = state.page(after, start);
            expect(page.agentCards.map((card) => card.agentName)).toEqual(
              expected.slice(0, Limits.agentPageCardsMax),
            );
            expect(page.hasMore).toBe(false);
          }
        },
      ),
      { numRuns: 100 },
    );
  },
);
