// What came of a wish for a new round, to whoever made it. Implements RUN-45 and RUN-85.

import type { Wished } from "../daemon/Wishing.ts";
import { count } from "../Output.ts";

export const wishedLines = (wished: Wished): ReadonlyArray<string> => {
  const { address, currentRound, round, again, wishesToJoin, wishesNeeded, said } = wished;
  const what = again
    ? `Round ${round} of ${address} was wished for before, and is wished for on.`
    : `Wished round ${round} for ${address}.`;
  const when = said ? "" : " It is said as soon as the Router is connected.";
  const others =
    wishesToJoin === 1
      ? "the others join the wish as soon as they hear it"
      : `the others join once ${count(wishesToJoin, "member")} wish it, so another owner has to wish it too`;
  return [
    `${what}${when}`,
    `It stands in round ${currentRound} here. Another begins once ${wishesNeeded} members wish it: ${others}.`,
    "A wish that is not joined lapses while nothing is under way there.",
  ];
};
