// Members that have no vote where this one stands, because rounds or openings took them elsewhere. They cannot help themselves:
// that they are there is work for all others. Implements HIS-90.

import * as Limits from "../Limits.ts";
import { isNext, type OpenRecord, type State } from "./State.ts";

/**
 * A GENESIS of n members, not prepared, whose author has accepted another anchor than this member: neither can have the
 * other's vote.
 */
export const isApart = (state: State, record: OpenRecord, n: number): boolean =>
  state.head === null &&
  record.height === 0 &&
  Object.keys(record.action).length < n &&
  !isNext(state, record);

/**
 * Members who stated a later round than binds this one, who go on stating this one's own because they can accept no anchor of it,
 * or who opened another: they have no vote here, which is work for all.
 */
export const areLeft = (state: State, n: number): boolean =>
  Object.values(state.rounds.stated).some((round) => round > state.rounds.bound) ||
  Object.values(state.rounds.restated).some((times) => times >= Limits.restatedMax) ||
  state.open.some((record) => isApart(state, record, n));
