// Bugs about one slot: its votes, its thresholds, its lock, its proposals, and what ends a proposal without a record.

import type { Mutant } from "./Mutant.ts";

const fold = "packages/protocol/src/conversation";
const history = "packages/protocol/src/history";

export const slotMutants: ReadonlyArray<Mutant> = [
  {
    name: "quorum-less-one",
    why: "Two quorums must share an honest member, or two records can be certified at one height.",
    edits: [
      {
        file: `${history}/Quorum.ts`,
        text: "(n < 4 ? n : n - faultsOf(n))",
        replacement: "(n < 4 ? n : n - faultsOf(n) - 1)",
      },
    ],
    scenario: null,
    seeds: 200,
  },
  {
    name: "genesis-less-one",
    why: "A conversation begins only when every member has agreed to be in it.",
    edits: [
      {
        file: `${history}/Quorum.ts`,
        text: "(height === 0 ? n : quorumOf(n))",
        replacement: "(height === 0 ? n - 1 : quorumOf(n))",
      },
    ],
    scenario: "opening",
    seeds: 200,
  },
  {
    name: "commit-without-durability",
    why: "What is certified must be on the disks of a quorum, or a crash of those that have it loses it.",
    edits: [
      {
        file: `${fold}/Settle.ts`,
        text: "Object.keys(record.durability).length >= draft.inputs.members.quorum;",
        replacement: "Object.keys(record.durability).length >= draft.inputs.members.quorum - 1;",
      },
    ],
    scenario: null,
    seeds: 200,
  },
  {
    name: "stage-without-certificate",
    why: "A durability vote says that nothing else can be certified in the slot, which only an action certificate shows.",
    edits: [
      {
        file: `${fold}/Settle.ts`,
        text: "(candidate) => follows(state, candidate) && isActionCertified(draft, candidate),",
        replacement: "(candidate) => follows(state, candidate) && candidate.author in candidate.action,",
      },
    ],
    scenario: null,
    seeds: 200,
  },
  {
    name: "certificate-without-author",
    why: "Nobody's post is certified against its author, whatever the others vote.",
    edits: [
      {
        file: `${fold}/Certificates.ts`,
        text: "  record.author in record.action &&\n",
        replacement: "",
      },
    ],
    scenario: "rounds",
    seeds: 400,
  },
  {
    name: "proposal-votes",
    why: "Among more than two members an author that votes by proposing votes twice where its own proposal does not come first.",
    edits: [
      {
        file: `${fold}/Settle.ts`,
        text: "if (inputs.members.n === 2) signActionVote(draft, record, true);",
        replacement: "signActionVote(draft, record, inputs.members.n === 2);",
      },
    ],
    scenario: null,
    seeds: 200,
  },
  {
    name: "vote-before-folded",
    why: "A member that votes before it has read the lane to its tail may have voted otherwise in what it has yet to read.",
    edits: [
      {
        file: `${fold}/OwnVotes.ts`,
        text: "  inputs.folded &&\n",
        replacement: "",
      },
    ],
    scenario: null,
    seeds: 200,
  },
  {
    name: "judge-by-local-head",
    why: "A record stands on the predecessor that it names: one that is judged by its height alone breaks the chain.",
    edits: [
      {
        file: `${fold}/State.ts`,
        text: "  record.height === nextHeight(state) &&\n  record.previousRecordHash === (state.head?.recordHash ?? null) &&\n",
        replacement: "  record.height === nextHeight(state) &&\n",
      },
      {
        file: `${fold}/Proposals.ts`,
        text: "if (action.height === nextHeight(state) && action.previousRecordHash !== (state.head?.recordHash ?? null)) {",
        replacement: "if (action.height < nextHeight(state)) {",
      },
      {
        file: `${fold}/Settle.ts`,
        text: "(other.height > next || other.previousRecordHash === record.recordHash) &&",
        replacement: "other.height >= next &&",
      },
    ],
    scenario: "liars",
    seeds: 500,
  },
  {
    name: "propose-over-lock",
    why: "A proposal into a slot that is another's can only lose, and splits whoever sees it first.",
    edits: [
      {
        file: `${fold}/Settle.ts`,
        text: "if (state.proposal !== null || state.slot.lock !== null) return false;",
        replacement: "if (state.proposal !== null) return false;",
      },
    ],
    scenario: null,
    seeds: 200,
  },
  {
    name: "repeat-post-id",
    why: "A post that is certified twice is read, and acted on, twice.",
    edits: [
      {
        file: `${fold}/Proposals.ts`,
        text: "if (draft.postUsed(action.authorAgentId, postId)) return",
        replacement: "if (draft.postUsed(inputs.self, postId)) return",
      },
    ],
    scenario: "liars",
    seeds: 500,
  },
  {
    name: "forged-proposal",
    why: "An author votes for what stands in its name, so a proposal without its signature puts words in its mouth.",
    edits: [
      {
        file: `${fold}/Proposals.ts`,
        text: "    !Statement.verify(inputs.trust.verifier, card.signingKey, proposal, authorSignature)\n",
        replacement: "    proposal.authorAgentId !== author\n",
      },
    ],
    scenario: "rounds",
    seeds: 2_000,
  },
  {
    name: "release-on-withdrawal",
    why: "A withdrawal is a wish: votes that were cast may still certify what it asks to end, beside what is voted for next.",
    edits: [
      {
        file: `${fold}/Refusals.ts`,
        text: "({ height, refusals }) => Object.keys(refusals).length >= Void.refusalsNeeded(inputs.members.n, height),",
        replacement:
          "({ height, refusals, withdrawal }) => withdrawal !== null || Object.keys(refusals).length >= Void.refusalsNeeded(inputs.members.n, height),",
      },
    ],
    scenario: null,
    seeds: 200,
  },
  {
    name: "one-refusal-too-few",
    why: "With one refusal less than proves it, those who refused and lied complete the certificate after all.",
    edits: [
      {
        file: `${history}/Void.ts`,
        text: "  faultsOf(n) + (n - actionThresholdOf(n, height)) + 1;",
        replacement: "  Math.max(1, faultsOf(n) + (n - actionThresholdOf(n, height)));",
      },
    ],
    scenario: "liars",
    seeds: 1_500,
  },
  {
    name: "refuse-after-vote",
    why: "A refusal promises that no vote was cast; beside a vote it proves void what can be certified.",
    edits: [
      {
        file: `${fold}/Refusals.ts`,
        text: "if (inputs.self in record.action || isRefused(draft, record)) continue;",
        replacement: "if (isRefused(draft, record)) continue;",
      },
      {
        file: `${fold}/Refusals.ts`,
        text: "if (reason === null || mayHaveVotedFor(draft, record)) continue;",
        replacement: "if (reason === null) continue;",
      },
    ],
    scenario: null,
    seeds: 300,
  },
  {
    name: "vote-after-refusal",
    why: "Others have counted the refusal as a vote that never comes.",
    edits: [
      {
        file: `${fold}/Settle.ts`,
        text: "follows(draft.state, record) && !isRefused(draft, record);",
        replacement: "follows(draft.state, record);",
      },
      {
        file: `${fold}/Settle.ts`,
        text: "if (isRefused(draft, record) || mustVoteLast(draft, record)) return false;",
        replacement: "if (mustVoteLast(draft, record)) return false;",
      },
    ],
    scenario: "opening",
    seeds: 500,
  },
  {
    name: "open-with-the-first-vote",
    why: "An author that votes for its GENESIS before the others cannot take it back: a liar refuses it, has it reported refused, and completes it.",
    edits: [
      {
        file: `${fold}/Settle.ts`,
        text: "if (isRefused(draft, record) || mustVoteLast(draft, record)) return false;",
        replacement: "if (isRefused(draft, record)) return false;",
      },
      {
        file: `${fold}/Refusals.ts`,
        text: "const hasVoted = inputs.members.n > 2 && inputs.self in action;",
        replacement: "const hasVoted = Object.keys(action).length < 0;",
      },
    ],
    scenario: "opening",
    seeds: 1_000,
  },
  {
    name: "withdrawn-at-once",
    why: "An author that is told that its post came to nothing before that is certain writes it again, and both are certified.",
    edits: [
      {
        file: `${fold}/Refusals.ts`,
        text: 'if (state.everProposed !== postId) return end(draft, postId, "withdrawn");',
        replacement: 'if (state.head !== null) return end(draft, postId, "withdrawn");',
      },
    ],
    scenario: null,
    seeds: 300,
  },
];
