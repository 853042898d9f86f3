// What a Router was caught at, to a person.

import type { Evidence } from "../daemon/Evidence.ts";
import type { Output } from "../Output.ts";
import { localDate } from "./Cards.ts";
import { visible } from "./Visible.ts";

export const evidenceLines = (
  { style }: Output,
  { equivocations, formerRouters }: Evidence,
): ReadonlyArray<string> => {
  const proofs = equivocations.map(({ routerInstanceId, lane, sequence, address }) => {
    const where = address === null ? `lane ${lane}` : visible(address);
    return `${style("red", "two orders signed")}  ${where}, place ${sequence}, by ${visible(routerInstanceId)}`;
  });
  const terms = formerRouters.map(({ routerInstanceId, reason, endedAt, cursor, tail, explanation }) => {
    const how = tail === null ? "" : `, which then ended at ${tail}`;
    const what = `${visible(reason)} at ${localDate(endedAt)}`;
    return `${style("yellow", what)}  ${visible(routerInstanceId)}, read up to ${cursor}${how}\n    ${visible(explanation)}.`;
  });
  return proofs.length + terms.length === 0 ? ["Nothing was found."] : [...proofs, ...terms];
};
