// The one decision about a registration whose proof has been verified, against the state folded to the tail. What was
// accepted is remembered for ever; what was refused is not, so a refused request may be tried again. Implements IDN-24.

import type { Choice } from "@social-harness/log/Fold";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { AdmissionCredential, InviteId } from "../Admission.ts";
import * as Entry from "../Entry.ts";
import * as Registration from "../Registration.ts";
import type { RegistryView } from "../RegistryState.ts";
import type { RegisterAnswer } from "../Wire.ts";

/** invite: a credential is demanded. open: none is looked at. */
export type AdmissionMode = "invite" | "open";

export interface Registering {
  readonly registry: Signer;
  readonly admission: AdmissionMode;
  readonly issuedAt: AgentCard.Timestamp;
}

const answer = (value: RegisterAnswer): Choice<RegisterAnswer> => ({ kind: "answer", value });

/** Operation before admission before key before name: a repeat needs no credential that is still good. */
export const decide = (
  view: RegistryView,
  { registry, admission, issuedAt }: Registering,
  request: Registration.Registration,
  credential: AdmissionCredential | null,
): Choice<RegisterAnswer> => {
  const requestHash = Registration.hashOf(request);
  const known = view.identityOfKey(request.signingKey);
  if (known !== undefined && known.operationId === request.operationId) {
    if (known.requestHash !== requestHash) return answer({ kind: "idempotency_conflict" });
    return answer({ kind: "registered", agentCard: known.agentCard });
  }
  let inviteId: InviteId | null = null;
  if (admission === "invite") {
    const invite = credential === null ? null : view.admitting(credential);
    if (invite === null) return answer({ kind: "admission_refused" });
    inviteId = invite.created.inviteId;
  }
  if (known !== undefined) return answer({ kind: "key_already_registered" });
  if (view.cardOfName(request.agentName) !== undefined) return answer({ kind: "name_taken" });
  const agentCard = AgentCard.issue(registry, request, request.keySignature, issuedAt);
  const { operationId } = request;
  return {
    kind: "append",
    bytes: Entry.encode({ kind: "identity", operationId, requestHash, inviteId, agentCard }),
    value: { kind: "registered", agentCard },
  };
};
