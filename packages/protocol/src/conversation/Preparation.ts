// Which records a member has prepared, and in which round: held with their action certificate, or with the carry
// certificate of a later round. Only certificates say so, never a claim. Implements HIS-73.

import * as Reanchor from "../history/Reanchor.ts";
import type { RecordHash } from "../identity/Identifier.ts";
import { isActionCertified } from "./Certificates.ts";
import type { Draft } from "./Draft.ts";
import { nextHeight, type OpenRecord } from "./State.ts";

/** The round in which a record with its action certificate is prepared: that of its latest certificate. */
export const preparedRound = (draft: Draft, record: OpenRecord): number => {
  if (!isActionCertified(draft, record) || !draft.knowsAnchor(record.anchorHash)) return -1;
  const own = Reanchor.bodyOf(draft.anchor(record.anchorHash)).round;
  return Math.max(own, record.carry?.round ?? -1);
};

/** The record above the head that is prepared in the highest round; of two in one round the one that was staged. */
export const bestPrepared = (
  draft: Draft,
): { readonly record: OpenRecord; readonly round: number } | null => {
  const { state } = draft;
  let best: { readonly record: OpenRecord; readonly round: number } | null = null;
  for (const record of state.open) {
    if (record.height !== nextHeight(state)) continue;
    if (record.previousRecordHash !== (state.head?.recordHash ?? null)) continue;
    const round = preparedRound(draft, record);
    const staged = draft.inputs.self in record.durability;
    if (round < 0 || (best !== null && (round < best.round || (round === best.round && !staged)))) continue;
    best = { record, round };
  }
  return best;
};

/** Whether a record is certified here, or open with its action certificate and the anchor that both stand under. */
export const isPreparedHere = (draft: Draft, recordHash: RecordHash): boolean => {
  if (draft.certified(recordHash) !== null) return true;
  const record = draft.find(recordHash);
  return record !== undefined && preparedRound(draft, record) >= 0;
};
