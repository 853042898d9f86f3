// What a person is told who wishes for a round.

import { expect } from "vitest";
import { ConversationId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Wished } from "../../src/daemon/Wishing.ts";
import { wishedLines } from "../../src/text/Rounds.ts";

const wished: Wished = {
  kind: "wished",
  conversationId: ConversationId.fromBytes(Buffer.alloc(32, 1)),
  address: "group:ada,bob,cyd,dan" as never,
  currentRound: 1,
  round: 2,
  again: false,
  wishesToJoin: 2,
  wishesNeeded: 3,
  said: true,
};

verifies(
  "RUN-85",
  "a wish is told with the round that stands, whether it is new, and whose wishes it takes",
  () => {
    expect(wishedLines(wished)).toEqual([
      "Wished round 2 for group:ada,bob,cyd,dan.",
      "It stands in round 1 here. Another begins once 3 members wish it: the others join once 2 members wish it, so another owner has to wish it too.",
      "A wish that is not joined lapses while nothing is under way there.",
    ]);
    expect(wishedLines({ ...wished, again: true, said: false })[0]).toBe(
      "Round 2 of group:ada,bob,cyd,dan was wished for before, and is wished for on. It is said as soon as the Router is connected.",
    );
    expect(wishedLines({ ...wished, wishesToJoin: 1, wishesNeeded: 2 })[1]).toContain(
      "as soon as they hear it",
    );
  },
);
