// Bugs about rounds: what binds a member, who completes a round, what it begins with, and what goes first in it.

import type { Mutant } from "./Mutant.ts";

const fold = "packages/protocol/src/conversation";
const history = "packages/protocol/src/history";

export const roundMutants: ReadonlyArray<Mutant> = [
  {
    name: "vote-under-ended-round",
    why: "A statement says what was signed in earlier rounds, which is true only if nothing more is.",
    edits: [
      {
        file: `${fold}/OwnVotes.ts`,
        text: "  isVoting(state) &&\n",
        replacement: "",
      },
    ],
    scenario: "rounds",
    seeds: 300,
  },
  {
    name: "bind-on-lone-statement",
    why: "A single liar that states ever higher rounds would take every member's vote away.",
    edits: [
      {
        file: `${fold}/Rounds.ts`,
        text: "    stated.map(([, round]) => round),\n    f,\n",
        replacement: "    stated.map(([, round]) => round),\n    0,\n",
      },
    ],
    scenario: "liars",
    seeds: 500,
  },
  {
    name: "bind-on-few-wishes",
    why: "Whoever binds itself before a quorum wishes the round is left without a vote in this one and alone in the next.",
    edits: [
      {
        file: `${fold}/Rounds.ts`,
        text: "const quorumAt = ranked([...wished, reached(rounds)], quorum - 1);",
        replacement: "const quorumAt = ranked([...wished, reached(rounds)], f);",
      },
    ],
    scenario: "rounds",
    seeds: 300,
  },
  {
    name: "follow-any-round",
    why: "A single wish for the last round that there is leaves a conversation of two or three no other to go on in.",
    edits: [
      {
        file: `${fold}/Following.ts`,
        text: "return Math.max(own, anchor?.round ?? 0) + Limits.roundsAheadMax;",
        replacement: "return Infinity;",
      },
    ],
    scenario: "slips",
    seeds: 300,
  },
  {
    name: "wish-binds",
    why: "An owner's command at one member must not cost the conversation that member's vote.",
    edits: [
      {
        file: `${fold}/Wishes.ts`,
        text: "  draft.changeRounds({ wish: round });\n",
        replacement: "  draft.changeRounds({ wish: round, bound: round });\n",
      },
    ],
    scenario: null,
    seeds: 500,
  },
  {
    name: "no-leader",
    why: "Where anyone may complete a round, each from another quorum's statements, it has several anchors.",
    edits: [
      {
        file: `${fold}/Leadership.ts`,
        text: "  if (Reanchor.leaderOf(members, bound) !== self) return false;\n",
        replacement: "",
      },
      {
        file: `${fold}/Leadership.ts`,
        text: "if (laneSequence === null || from !== Reanchor.leaderOf(inputs.members, body.round)) {",
        replacement: "if (laneSequence === null) {",
      },
      {
        file: `${fold}/Statements.ts`,
        text: "const leads = Reanchor.leaderOf(inputs.members, round) === inputs.self;",
        replacement: "const leads = true;",
      },
    ],
    scenario: "rounds",
    seeds: 500,
  },
  {
    name: "two-anchors-in-a-round",
    why: "Votes under two anchors of one round are votes in two slots at once.",
    edits: [
      {
        file: `${fold}/Acceptance.ts`,
        text: "if (pending.body.round < bound || pending.body.round <= (state.anchor?.round ?? 0)) {",
        replacement:
          "if (pending.body.round < bound || pending.body.round < (state.anchor?.round ?? 0) || Reanchor.hashOf(pending) === state.anchor?.anchorHash) {",
      },
      {
        file: `${fold}/Leadership.ts`,
        text: "if (body.round < rounds.bound || body.round <= (anchor?.round ?? 0)) return;",
        replacement: "if (body.round < rounds.bound || body.round < (anchor?.round ?? 0)) return;",
      },
    ],
    scenario: "rounds",
    seeds: 6_000,
  },
  {
    name: "accept-below-bound",
    why: "Accepting an anchor of a round that a statement has ended brings its votes back.",
    edits: [
      {
        file: `${fold}/Acceptance.ts`,
        text: "  if (round < state.rounds.bound) return;\n",
        replacement: "",
      },
    ],
    scenario: "rounds",
    seeds: 4_000,
  },
  {
    name: "accept-without-carried",
    why: "Whoever accepts an anchor counts as having prepared what it carries, and could not show it in the next round.",
    edits: [
      {
        file: `${fold}/Acceptance.ts`,
        text: "if (record === undefined || preparedRound(draft, record) < 0) return false;",
        replacement: "if (record === undefined || preparedRound(draft, record) < 0) return true;",
      },
    ],
    scenario: "rounds",
    seeds: 1_000,
  },
  {
    name: "accept-without-base",
    why: "A round that begins above what a member holds has it vote for records whose predecessors it never saw.",
    edits: [
      {
        file: `${fold}/Acceptance.ts`,
        text: "base === null ? state.head !== null && carried === null : below?.recordCore.action.height !== base.height",
        replacement: "base === null && state.head !== null && carried === null",
      },
    ],
    scenario: "rounds",
    seeds: 1_000,
  },
  {
    name: "carry-lowest",
    why: "Only the latest preparation can have been certified; an earlier one in its place undoes it.",
    edits: [
      {
        file: `${history}/Reanchor.ts`,
        text: "  left.round > right.round ||\n",
        replacement: "  left.round < right.round ||\n",
      },
    ],
    scenario: "rounds",
    seeds: 1_000,
  },
  {
    name: "forget-carried",
    why: "A round that carries nothing puts another record where one may have been certified.",
    edits: [
      {
        file: `${history}/Reanchor.ts`,
        text: "  return { base, carried };\n",
        replacement: "  return { base, carried: null };\n",
      },
    ],
    scenario: "rounds",
    seeds: 300,
  },
  {
    name: "new-before-carried",
    why: "What may have been certified goes before anything that is proposed in the new round.",
    edits: [
      {
        file: `${fold}/State.ts`,
        text: "  anchor.carried !== null &&\n",
        replacement: "  anchor.carried === undefined &&\n",
      },
    ],
    scenario: "rounds",
    seeds: 300,
  },
  {
    name: "carry-without-quorum",
    why: "A durability vote under the new anchor makes the record prepared in its round, which a carry certificate has to show.",
    edits: [
      {
        file: `${fold}/Carrying.ts`,
        text: "Object.keys(votes).length < inputs.members.quorum) return false;",
        replacement: "Object.keys(votes).length < 1) return false;",
      },
    ],
    scenario: "rounds",
    seeds: 300,
  },
  {
    name: "state-nothing-prepared",
    why: "A record that a quorum staged lives on only through what those members state.",
    edits: [
      {
        file: `${fold}/Statements.ts`,
        text: "const best = state.restored === null ? bestPrepared(draft) : null;",
        replacement:
          "const best = state.restored === null && state.head === null ? bestPrepared(draft) : null;",
      },
    ],
    scenario: "rounds",
    seeds: 300,
  },
  {
    name: "state-first-preparation",
    why: "A record that was carried is prepared in the later round; stated in its first, it loses to one that was left behind.",
    edits: [
      {
        file: `${fold}/Preparation.ts`,
        text: "return Math.max(own, record.carry?.round ?? -1);",
        replacement: "return own;",
      },
    ],
    scenario: "rounds",
    seeds: 1_000,
  },
  {
    name: "state-either-of-two",
    why: "Of two certificates in one round, which only two members can hold, the staged one may have been certified.",
    edits: [
      {
        file: `${fold}/Preparation.ts`,
        text: "(round === best.round && !staged)",
        replacement: "round === best.round",
      },
    ],
    scenario: "equivocating",
    seeds: 1_500,
  },
  {
    name: "drop-staged-with-round",
    why: "A staged record that goes with its round is gone from the disks that promised to hold it.",
    edits: [
      {
        file: `${fold}/Acceptance.ts`,
        text: "      record.recordHash === best?.record.recordHash,\n",
        replacement: "      false,\n",
      },
    ],
    scenario: "rounds",
    seeds: 1_000,
  },
  {
    name: "open-round-to-everyone",
    why: "At a round's first height a liar splits the votes again and again unless they all follow its leader.",
    edits: [
      {
        file: `${fold}/State.ts`,
        text: "return nextHeight(state) === (anchor.base?.height ?? -1) + (anchor.carried === null ? 1 : 2);",
        replacement: "return false;",
      },
    ],
    scenario: "rounds",
    seeds: 300,
  },
  {
    name: "genesis-anchor-anew",
    why: "Another Router before GENESIS is another round: two first anchors of round 0 are two slots in one.",
    edits: [
      {
        file: `${fold}/Transition.ts`,
        text: "  askRoundsAnew(draft);\n",
        replacement:
          "  const { head, anchor, slot } = draft.state;\n    if (head === null && anchor !== null && anchor.round === 0 && anchor.routerInstanceId !== draft.inputs.routerInstanceId) {\n      draft.state.anchor = null;\n      draft.state.proposal = null;\n      draft.state.slot = { ...slot, lock: null, actionVote: null, durabilityVote: null };\n    }\n  askRoundsAnew(draft);\n",
      },
    ],
    scenario: "opening",
    seeds: 1_000,
  },
  {
    name: "follow-any-anchor",
    why: "A round that names another anchor than its base's makes records that no auditor accepts.",
    edits: [
      {
        file: `${fold}/Acceptance.ts`,
        text: "  if (below !== null && below.recordCore.anchorHash !== body.previousAnchorHash) return false;\n",
        replacement: "",
      },
    ],
    scenario: "schemes",
    seeds: 600,
  },
  {
    name: "vote-for-former-router",
    why: "A vote under an anchor of a Router that is gone follows no lane that this member is shown.",
    edits: [
      {
        file: `${fold}/OwnVotes.ts`,
        text: "  isVoting(state) &&\n  (state.anchor === null || state.anchor.routerInstanceId === inputs.routerInstanceId);",
        replacement: "  isVoting(state);",
      },
    ],
    scenario: "replaced",
    seeds: 300,
  },
  {
    name: "open-round-by-anyone",
    why: "At the first height of a round its leader's word decides which proposal goes first, not that of whoever repeats one.",
    edits: [
      {
        file: `${fold}/Settle.ts`,
        text: "(record.relays[leader] ?? null);",
        replacement: "(Object.values(record.relays)[0] ?? record.laneSequence);",
      },
    ],
    scenario: "liars",
    seeds: 300,
  },
];
