// The proof that an action can never be certified: refusals by so many members that, even if the faulty among them vote all
// the same, too few are left for an action certificate. Knows why nobody refuses; what is done about it is the fold's.

import * as Schema from "effect/Schema";
import { type ActionHash, Ed25519Signature } from "../identity/Identifier.ts";
import type { Verifier } from "../identity/Signing.ts";
import type { Members } from "./Membership.ts";
import { actionThresholdOf, faultsOf } from "./Quorum.ts";
import { RecordError } from "./RecordError.ts";
import * as Statement from "./Statement.ts";

/** A refusal and its signature over the refusal alone. */
export const SignedRefusal = Schema.Struct({
  ...Statement.Refusal.fields,
  signature: Ed25519Signature.schema,
});
export type SignedRefusal = typeof SignedRefusal.Type;

/**
 * How many refusals make an action at `height` void in a conversation of n members: f + (n - t) + 1, with t the votes that
 * its certificate would need. Below four members that is one.
 */
export const refusalsNeeded = (n: number, height: number): number =>
  faultsOf(n) + (n - actionThresholdOf(n, height)) + 1;

/** Whether a refusal is a member's and truly signed. */
export const isSigned = (
  { verifier }: { readonly verifier: Verifier },
  members: Members,
  { signature, ...refusal }: SignedRefusal,
): boolean => {
  const card = members.cardOf(refusal.signerAgentId);
  return card !== undefined && Statement.verify(verifier, card.signingKey, refusal, signature);
};

/**
 * Verifies that refusals, in increasing order of their signers' decoded ids, prove an action void. Their reasons may
 * differ. Throws `RecordError`.
 */
export const verify = (
  trust: { readonly verifier: Verifier },
  members: Members,
  action: { readonly actionHash: ActionHash; readonly height: number },
  refusals: ReadonlyArray<SignedRefusal>,
): void => {
  const needed = refusalsNeeded(members.n, action.height);
  if (refusals.length < needed) {
    throw new RecordError("threshold", `${refusals.length} refusals where ${needed} are needed`);
  }
  let previous = -1;
  for (const refusal of refusals) {
    const index = members.indexOf(refusal.signerAgentId);
    if (index < 0) throw new RecordError("threshold", "a refusal is not a member's");
    if (index <= previous) throw new RecordError("threshold", "refusals are repeated or out of order");
    previous = index;
    if (refusal.actionHash !== action.actionHash) {
      throw new RecordError("inconsistent", "a refusal speaks of another action");
    }
    if (!isSigned(trust, members, refusal)) {
      throw new RecordError("signature", "a refusal's signature does not verify");
    }
  }
};
