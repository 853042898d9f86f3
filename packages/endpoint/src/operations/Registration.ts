// Registering this endpoint's agent: ids written down before the Registry is asked, so that a lost answer is asked for
// again exactly; the card written down before anybody is told. Finds out where a registered agent has lost its store.
// Implements MGT-20 to MGT-22, MGT-101, MGT-102 and HIS-175.

import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { OperationId, PrincipalId, SigningKey } from "@social-harness/protocol/identity/Identifier";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Limits from "@social-harness/protocol/Limits";
import type { RegistryClient } from "@social-harness/registry/client/RegistryClient";
import * as Admission from "@social-harness/registry/Admission";
import * as Registration from "@social-harness/registry/Registration";
import type { Logger } from "@social-harness/router/Logger";
import * as LostMemory from "../conversations/LostMemory.ts";
import type { Database } from "../store/Database.ts";
import { StoreError } from "../store/StoreError.ts";
import type { Identity } from "../state/Identity.ts";
import { withReasons } from "./Failing.ts";
import type { RegisterInput, RegisterResult } from "./Operations.ts";

export interface RegisteringOptions {
  readonly db: Database;
  readonly identity: Identity;
  readonly registry: RegistryClient;
  readonly registryKey: SigningKey;
  /** The configuration's credential, for calls that bring none. */
  readonly admission: Admission.AdmissionCredential | undefined;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly logger: Logger;
}

/** The bound card, or null. Throws `StoreError` when the store belongs to another identity. */
export const boundCard = (db: Database, identity: Identity): AgentCard.AgentCard | null => {
  const row = db.get("SELECT agent_card FROM registration WHERE agent_card IS NOT NULL");
  if (row === undefined) return null;
  const card = AgentCard.decode(row["agent_card"] as AgentCard.EncodedAgentCard);
  if (card.signingKey === identity.signingKey && card.sealingKey === identity.sealingKey) return card;
  throw new StoreError(
    "corrupt",
    `the store belongs to ${card.agentName}, whose keys are not the ones in identity.json`,
    "put the matching file back",
  );
};

export interface PlannedRegistration {
  readonly operationId: OperationId;
  readonly principalId: PrincipalId;
  readonly agentName: AgentName;
}

/** What the Registry says of `asked` once this endpoint's registration is bound, without asking it; null: `registered`. */
export const conflictOf = (
  db: Database,
  asked: PlannedRegistration,
): "idempotency_conflict" | "key_already_registered" | null => {
  const row = db.get("SELECT * FROM registration WHERE agent_card IS NOT NULL");
  if (row === undefined || row["operation_id"] !== asked.operationId) return "key_already_registered";
  const isSame = row["principal_id"] === asked.principalId && row["agent_name"] === asked.agentName;
  return isSame ? null : "idempotency_conflict";
};

const plan = (db: Database, { operationId, principalId, agentName }: PlannedRegistration): void => {
  db.run(
    `INSERT INTO registration (one, operation_id, principal_id, agent_name) VALUES (1, ?, ?, ?)
     ON CONFLICT (one) DO UPDATE SET operation_id = excluded.operation_id,
       principal_id = excluded.principal_id, agent_name = excluded.agent_name`,
    operationId,
    principalId,
    agentName,
  );
};

/**
 * Whether these keys are registered although this store has never asked for that: then another store did, what the agent signed
 * since was on that one, and it is gone. A store that has asked before lost an answer and nothing else; so the Registry is
 * looked at before the ids are written down, and what is seen is noted with them.
 */
const hasForgotten = async (
  { db, identity, registry, logger }: RegisteringOptions,
  deadline: AbortSignal,
): Promise<boolean> => {
  if (db.get("SELECT 1 FROM registration") !== undefined) return false;
  const agentId = AgentCard.agentIdOf(identity.signingKey);
  const isLost = (await registry.lookupById(agentId, { deadline })) !== null;
  if (isLost)
    logger(
      "warn",
      "the store of a registered agent is gone; its conversations are taken up again from their members",
    );
  return isLost;
};

/**
 * Asks the Registry, within one deadline that includes signing, and binds what it registered. A call that gets no answer
 * binds nothing and may be repeated exactly. Rejects with `dependency-unavailable` or `persistence-failed`.
 */
export const register = (options: RegisteringOptions, input: RegisterInput): Promise<RegisterResult> =>
  withReasons(async () => {
    const { db, identity, registry, registryKey, clock } = options;
    const credential = input.admission === undefined ? options.admission : admissionOf(input.admission);
    if (credential === "malformed") return { kind: "admission_refused" };
    // Begun before signing: a signer that takes its time takes it from the Registry's.
    const deadline = AbortSignal.timeout(Limits.registryDeadlineMs);
    const isLost = await hasForgotten(options, deadline);
    db.transaction(() => {
      plan(db, input);
      if (isLost) LostMemory.note(db, clock());
    });
    const request = Registration.sign(identity.signer, {
      operationId: input.operationId,
      principalId: input.principalId,
      agentName: input.agentName,
      sealingKey: identity.sealingKey,
      registryKey,
    });
    const answer = await registry.register(request, credential ?? null, { deadline });
    if (answer.kind === "registered") {
      const encoded = AgentCard.encode(answer.agentCard);
      db.transaction(() => db.run("UPDATE registration SET agent_card = ? WHERE one = 1", encoded));
    }
    return answer;
  });

/** A text that could never be a credential is refused like a wrong one, without asking. */
const admissionOf = (text: string): Admission.AdmissionCredential | "malformed" =>
  Admission.fromHeader(`Bearer ${text}`) ?? "malformed";
