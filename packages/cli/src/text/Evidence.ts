// What is kept about a Router, to a person: the proofs against it, and apart from them how its logs ended, most of which is no
// fault of anybody.

import type { Evidence } from "../daemon/Evidence.ts";
import type { Output } from "../Output.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { localDate } from "./Cards.ts";
import { naming } from "./Hints.ts";
import { changeWords } from "./Standing.ts";
import { visible } from "./Visible.ts";

const caughtHeading = "Caught at, with its signatures as proof:";
const endedHeading = "How logs of the Router ended (only one that went back is a fault):";

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
    const what = `${changeWords(reason)} ${localDate(endedAt)}`;
    return `${style("yellow", what)}  after ${visible(routerInstanceId)}, read up to ${cursor}${how}\n    ${naming(named, visible(explanation))}.`;
  });
  const caught = proofs.length === 0 ? ["The Router was caught at nothing."] : [caughtHeading, ...proofs];
  return terms.length === 0 ? caught : [...caught, "", endedHeading, ...terms];
};
