// What an operator does with invites. Works from any process on the network's log, also while the network runs: the
// Registry folds to the tail before each decision, so a revocation holds for the next registration. Implements IDN-41.

import type { Choice } from "@social-harness/log/Fold";
import type { Log } from "@social-harness/log/Log";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Admission from "./Admission.ts";
import * as Entry from "./Entry.ts";
import * as Limits from "./Limits.ts";
import { makeRegistryFold } from "./RegistryFold.ts";
import type { InviteState } from "./RegistryState.ts";
import { timestampOf, type Clock } from "./Timestamp.ts";

/** An invite as an operator sees it. Its credential is nowhere any more. */
export interface InviteSummary {
  readonly inviteId: Admission.InviteId;
  readonly state: "open" | "spent" | "revoked";
  readonly uses: number;
  readonly used: number;
  readonly createdAt: string;
  readonly revokedAt: string | null;
}

export type RevokeResult = { readonly kind: "revoked" | "already_revoked" | "not_found" };

/** Every method rejects with `LogError` when the log cannot be read or written. */
export interface Invites {
  /** Mints a credential that admits `uses` agents (1..`inviteUsesMax`). This is the only time it is seen. */
  readonly create: (uses: number) => Promise<{
    readonly inviteId: Admission.InviteId;
    readonly credential: Admission.AdmissionCredential;
  }>;
  /** In order of creation. */
  readonly list: () => Promise<ReadonlyArray<InviteSummary>>;
  /** Admits nobody from here on; who was admitted stays. */
  readonly revoke: (inviteId: Admission.InviteId) => Promise<RevokeResult>;
}

export interface InvitesOptions {
  readonly log: Log;
  readonly registryKey: SigningKey;
  readonly clock: Clock;
  readonly random: Admission.Random;
}

const summaryOf = ({ created, used, revokedAt }: InviteState): InviteSummary => ({
  inviteId: created.inviteId,
  state: revokedAt !== null ? "revoked" : used >= created.uses ? "spent" : "open",
  uses: created.uses,
  used,
  createdAt: created.createdAt,
  revokedAt,
});

export const makeInvites = ({ log, registryKey, clock, random }: InvitesOptions): Invites => {
  const { fold, view } = makeRegistryFold(log, registryKey);
  return {
    create: async (uses) => {
      if (!Number.isSafeInteger(uses) || uses < 1 || uses > Limits.inviteUsesMax) {
        throw new RangeError(`an invite admits 1 to ${Limits.inviteUsesMax} agents`);
      }
      const credential = Admission.mint(random);
      const credentialHash = Admission.hashOf(credential);
      const inviteId = Admission.inviteIdOf(credentialHash);
      const createdAt = timestampOf(clock());
      const bytes = Entry.encode({ kind: "invite_created", inviteId, credentialHash, uses, createdAt });
      return fold.decide(() => ({ kind: "append", bytes, value: { inviteId, credential } }));
    },
    list: async () => {
      await fold.catchUp();
      return view.invites().map(summaryOf);
    },
    revoke: async (inviteId) =>
      fold.decide((): Choice<RevokeResult> => {
        const invite = view.invite(inviteId);
        if (invite === undefined) return { kind: "answer", value: { kind: "not_found" } };
        if (invite.revokedAt !== null) return { kind: "answer", value: { kind: "already_revoked" } };
        const revokedAt = timestampOf(clock());
        return {
          kind: "append",
          bytes: Entry.encode({ kind: "invite_revoked", inviteId, revokedAt }),
          value: { kind: "revoked" },
        };
      }),
  };
};
