// What a Router was caught at, to a person.

import type { Evidence } from "../daemon/Evidence.ts";
import type { Output } from "../Output.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { localDate } from "./Cards.ts";
import { naming } from "./Hints.ts";
import { visible } from "./Visible.ts";

export const evidenceLines = (
  { style }: Output,
  { equivocations, formerRouters }: Evidence,
  named: StateOptions,
): ReadonlyArray<string> => {
  const proofs = equivocations.map(({ routerInstanceId, lane, sequence, address }) => {
    const where = address === null ? `lane ${lane}` : visible(address);
    return `${style("red", "two orders signed")}  ${where}, place ${sequence}, by ${visible(routerInstanceId)}`;
  });
  const terms = formerRouters.map(({ routerInstanceId, reason, endedAt, cursor, tail, explanation }) => {
    const how = tail === null ? "" : `, which then ended at ${tail}`;
    const what = `${visible(reason)} at ${localDate(endedAt)}`;
    return `${style("yellow", what)}  ${visible(routerInstanceId)}, read up to ${cursor}${how}\n    ${naming(named, visible(explanation))}.`;
  });
  return proofs.length + terms.length === 0 ? ["Nothing was found."] : [...proofs, ...terms];
};
