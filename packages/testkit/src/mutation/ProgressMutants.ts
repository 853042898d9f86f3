// Bugs about getting on: who is asked, what is repeated, and when silence is cause for another round.

import type { Mutant } from "./Mutant.ts";

const fold = "packages/protocol/src/conversation";

export const progressMutants: ReadonlyArray<Mutant> = [
  {
    name: "no-round-on-stall",
    why: "A slot whose votes are split stays split until a round ends it.",
    edits: [
      {
        file: `${fold}/Rounds.ts`,
        text: "if (cause) wishFor(draft, bound + 1);",
        replacement: "if (cause && state.restored !== null) wishFor(draft, bound + 1);",
      },
    ],
    scenario: null,
    seeds: 500,
  },
  {
    name: "nothing-staged-to-fetch",
    why: "A record that a round carries is certified nowhere yet, so those that staged it must show it.",
    edits: [
      {
        file: `${fold}/CatchUp.ts`,
        text: "if (open === undefined || !isActionCertified(draft, open) || !draft.knowsAnchor(open.anchorHash)) return;",
        replacement: "if (open === undefined || open.height >= 0) return;",
      },
    ],
    scenario: null,
    seeds: 500,
  },
  {
    name: "leave-the-bound-behind",
    why: "A member that is bound to a later round alone has no vote in this one, and nobody to begin that one with.",
    edits: [
      {
        file: `${fold}/State.ts`,
        text: "  Object.values(state.rounds.stated).some((round) => round > state.rounds.bound) ||\n",
        replacement: "",
      },
    ],
    scenario: null,
    seeds: 1_500,
  },
  {
    name: "keep-old-proposals",
    why: "An author has few places for open proposals: those of a round that is over must not take them.",
    edits: [
      {
        file: `${fold}/Acceptance.ts`,
        text: "      record.height > next ||\n",
        replacement: "      record.height >= next ||\n",
      },
    ],
    scenario: "rounds",
    seeds: 1_000,
  },
  {
    name: "keep-wishes-after-commit",
    why: "A wish whose cause has gone makes members change rounds for ever.",
    edits: [
      {
        file: `${fold}/Settle.ts`,
        text: "wish: 0, wishes: rounds.stated, called: false,",
        replacement: "called: false,",
      },
    ],
    scenario: "rounds",
    seeds: 1_000,
  },
  {
    name: "silence-for-ever",
    why: "What was lost is said again only by those who notice that nothing comes of it.",
    edits: [
      {
        file: `${fold}/Timers.ts`,
        text: "  repeatRound(draft);\n",
        replacement: "  if (state.head !== null) return;\n  repeatRound(draft);\n",
      },
    ],
    scenario: null,
    seeds: 200,
  },
  {
    name: "carried-unannounced",
    why: "Members that accept a round late wait for a carried record that all others have certified already.",
    edits: [
      {
        file: `${fold}/Acceptance.ts`,
        text: "if (accepted.carried !== null && state.head?.recordHash === accepted.carried) {",
        replacement: "if (accepted.carried !== null && state.head === null) {",
      },
    ],
    scenario: "rounds",
    seeds: 2_000,
  },
  {
    name: "ask-once",
    why: "The first member that is asked may be away, or lie.",
    edits: [
      {
        file: `${fold}/Behind.ts`,
        text: "    nextIndex: (index + 1) % n,\n",
        replacement: "    nextIndex: index,\n",
      },
    ],
    scenario: null,
    seeds: 1_000,
  },
];
