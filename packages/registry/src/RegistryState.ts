// What the log's entries say together: who is registered, and which invites are open. Pure; a replica is anything that
// has applied the same entries. An entry that contradicts earlier ones is a defect and stops the fold. Implements IDN-30.

import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import type { AgentId, SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as ProtocolLimits from "@social-harness/protocol/Limits";
import * as Admission from "./Admission.ts";
import type { Entry, Identity, InviteCreated, InviteRevoked } from "./Entry.ts";
import { RegistryLogError } from "./RegistryLogError.ts";
import type { PageAnswer } from "./Wire.ts";

export interface InviteState {
  readonly created: InviteCreated;
  readonly used: number;
  readonly revokedAt: string | null;
}

/** Read access, for decisions and answers. */
export interface RegistryView {
  readonly identityOfKey: (signingKey: SigningKey) => Identity | undefined;
  readonly cardOfName: (name: AgentName.AgentName) => AgentCard | undefined;
  /** How many agents are registered. */
  readonly agents: () => number;
  readonly cardOfId: (agentId: AgentId) => AgentCard | undefined;
  /** At most `agentPageCardsMax` cards in increasing name order, strictly after `after`, all beginning with `prefix`. */
  readonly page: (after: string, prefix: string) => PageAnswer;
  readonly invite: (inviteId: Admission.InviteId) => InviteState | undefined;
  readonly invites: () => ReadonlyArray<InviteState>;
  /** The invite that a credential belongs to when it admits one more agent now; else null. */
  readonly admitting: (credential: Admission.AdmissionCredential) => InviteState | null;
}

export interface RegistryState extends RegistryView {
  readonly apply: (entry: Entry) => void;
}

const contradiction = (message: string): RegistryLogError =>
  new RegistryLogError("contradiction", `the Registry's log contradicts itself: ${message}`);

const assert = (condition: boolean, message: string): void => {
  if (!condition) throw contradiction(message);
};

/** The index of the first name that is not less than `bound`. */
const lowerBound = (names: ReadonlyArray<string>, bound: string): number => {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((names[middle] as string) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
};

export const makeRegistryState = (registryKey: SigningKey): RegistryState => {
  const byKey = new Map<SigningKey, Identity>();
  const byName = new Map<AgentName.AgentName, AgentCard>();
  const byId = new Map<AgentId, AgentCard>();
  const invites = new Map<Admission.InviteId, InviteState>();
  const names: Array<AgentName.AgentName> = [];
  let sorted = true;

  const applyIdentity = (identity: Identity): void => {
    const { agentCard, inviteId } = identity;
    if (agentCard.registryKey !== registryKey) {
      throw new RegistryLogError(
        "other-registry",
        "the Registry's log holds cards of another Registry's key",
      );
    }
    assert(!byName.has(agentCard.agentName), "a name given twice");
    assert(!byKey.has(agentCard.signingKey) && !byId.has(agentCard.agentId), "a key registered twice");
    if (inviteId !== null) {
      const invite = invites.get(inviteId);
      if (invite === undefined || invite.revokedAt !== null || invite.used >= invite.created.uses) {
        throw contradiction("an agent admitted by no open invite");
      }
      invites.set(inviteId, { ...invite, used: invite.used + 1 });
    }
    byKey.set(agentCard.signingKey, identity);
    byName.set(agentCard.agentName, agentCard);
    byId.set(agentCard.agentId, agentCard);
    names.push(agentCard.agentName);
    sorted = false;
  };

  const applyRevoked = ({ inviteId, revokedAt }: InviteRevoked): void => {
    const invite = invites.get(inviteId);
    if (invite === undefined || invite.revokedAt !== null) {
      throw contradiction("a revocation of no open invite");
    }
    invites.set(inviteId, { ...invite, revokedAt });
  };

  const page: RegistryView["page"] = (after, prefix) => {
    // Sorting when it is asked for keeps folding a long log linear; names that are in order already cost one pass.
    if (!sorted) names.sort(AgentName.compare);
    sorted = true;
    const agentCards: Array<AgentCard> = [];
    let index = lowerBound(names, prefix > after ? prefix : after);
    if (names[index] === after) index++;
    for (; names[index]?.startsWith(prefix) === true; index++) {
      if (agentCards.length === ProtocolLimits.agentPageCardsMax) {
        return { kind: "page", agentCards, hasMore: true };
      }
      agentCards.push(byName.get(names[index] as AgentName.AgentName) as AgentCard);
    }
    return { kind: "page", agentCards, hasMore: false };
  };

  return {
    apply: (entry) => {
      switch (entry.kind) {
        case "identity":
          return applyIdentity(entry);
        case "invite_created":
          assert(!invites.has(entry.inviteId), "an invite created twice");
          invites.set(entry.inviteId, { created: entry, used: 0, revokedAt: null });
          return;
        case "invite_revoked":
          return applyRevoked(entry);
      }
    },
    identityOfKey: (signingKey) => byKey.get(signingKey),
    cardOfName: (name) => byName.get(name),
    agents: () => byId.size,
    cardOfId: (agentId) => byId.get(agentId),
    page,
    invite: (inviteId) => invites.get(inviteId),
    invites: () => [...invites.values()],
    admitting: (credential) => {
      const presented = Admission.hashOf(credential);
      const invite = invites.get(Admission.inviteIdOf(presented));
      return invite !== undefined &&
        Admission.sameHash(presented, invite.created.credentialHash) &&
        invite.revokedAt === null &&
        invite.used < invite.created.uses
        ? invite
        : null;
    },
  };
};
