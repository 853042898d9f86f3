// Who stands under a record, to a person. Implements RUN-89.

import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";

/** `names` of all members by id. Who is left out may have agreed too, after the certificate was complete. */
export const signedBy = (
  names: ReadonlyMap<string, string>,
  signatures: HistoryRecord["actionSignatures"],
): string => {
  const signers = new Set<string>(signatures.map(({ signerAgentId }) => signerAgentId));
  const without = [...names].flatMap(([id, name]) => (signers.has(id) ? [] : [name]));
  const rest = without.length === 0 ? "" : `, without ${without.join(", ")}`;
  return `signed by ${signers.size} of ${names.size}${rest}`;
};
