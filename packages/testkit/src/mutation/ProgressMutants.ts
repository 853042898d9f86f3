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
        file: `${fold}/LeftBehind.ts`,
        text: "  Object.values(state.rounds.stated).some((round) => round > state.rounds.bound) ||\n",
        replacement: "",
      },
    ],
    scenario: null,
    seeds: 4_000,
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
