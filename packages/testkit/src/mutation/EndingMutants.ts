// Bugs about proposals that come to nothing: who may refuse and withdraw what, what makes a record void, and what an author is
// told of it.

import type { Mutant } from "./Mutant.ts";

const fold = "packages/protocol/src/conversation";

export const endingMutants: ReadonlyArray<Mutant> = [
  {
    name: "refusals-for-others",
    why: "Whoever may refuse in others' names makes everybody give up votes that stand.",
    edits: [
      {
        file: `${fold}/Refusals.ts`,
        text: "    packet.signerAgentId === from &&\n    Void.isSigned(draft.inputs.trust, draft.inputs.members, packet);",
        replacement: "    Void.isSigned !== undefined;",
      },
      {
        file: `${fold}/Refusals.ts`,
        text: "draft.replaceOpen({ ...record, refusals: { ...record.refusals, [from]: { reason, signature } } });",
        replacement:
          "draft.replaceOpen({ ...record, refusals: { ...record.refusals, [packet.signerAgentId]: { reason, signature } } });",
      },
    ],
    scenario: "schemes",
    seeds: 300,
  },
  {
    name: "withdrawals-for-others",
    why: "A post is its author's: nobody else may have the members refuse it.",
    edits: [
      {
        file: `${fold}/Refusals.ts`,
        text: "    statement.authorAgentId === from &&\n    record.author === from &&\n    card !== undefined &&\n    Statement.verify(draft.inputs.trust.verifier, card.signingKey, statement, signature);",
        replacement: "    card !== undefined;",
      },
    ],
    scenario: "schemes",
    seeds: 300,
  },
  {
    name: "refuse-forgotten-vote",
    why: "A record that left with its round may come back: the vote for it still counts, and a refusal beside it would be a lie.",
    edits: [
      {
        file: `${fold}/Refusals.ts`,
        text: "if (reason === null || mayHaveVotedFor(draft, record)) continue;",
        replacement: "if (reason === null) continue;",
      },
    ],
    scenario: "schemes",
    seeds: 1_500,
  },
  {
    name: "void-forgotten",
    why: "A void record that is judged anew gets the vote that its refuser promised never to give.",
    edits: [
      {
        file: `${fold}/Refusals.ts`,
        text: "  state.voids = [...state.voids, { recordHash, actionHash, height, author, refusal }];\n",
        replacement: "",
      },
    ],
    scenario: "opening",
    seeds: 600,
  },
  {
    name: "void-comes-again",
    why: "A void record is void however often its author repeats it.",
    edits: [
      {
        file: `${fold}/Proposals.ts`,
        text: "  if (isVoid(draft, recordHash)) return author === from ? repeatVoid(draft, recordHash) : undefined;\n",
        replacement: "",
      },
    ],
    scenario: "opening",
    seeds: 300,
  },
];
