// Bugs about disks: what is not written before it counts, what a restart forgets, and what an old backup must not sign.

import type { Mutant } from "./Mutant.ts";

const fold = "packages/protocol/src/conversation";
const simulation = "packages/testkit/src/simulation";

export const memoryMutants: ReadonlyArray<Mutant> = [
  {
    name: "lock-unsynced",
    why: "A lock and a vote that a crash takes back, when the vote has left, are given again to whatever comes first then.",
    edits: [
      {
        file: `${simulation}/FoldWorld.ts`,
        text: "    member.disk = after;\n",
        replacement: "    Object.assign(member, { synced: member.disk });\n    member.disk = after;\n",
      },
      {
        file: `${simulation}/FoldWorld.ts`,
        text: "    crash: (index) => down(at(index)),\n",
        replacement:
          "    crash: (index) => {\n      down(at(index));\n      Object.assign(at(index), { disk: (at(index) as { synced?: Disk }).synced ?? at(index).disk });\n    },\n",
      },
    ],
    scenario: "disks",
    seeds: 300,
  },
  {
    name: "send-before-durable",
    why: "An envelope that leaves before its turn is on disk says what a crash makes untrue.",
    edits: [
      {
        file: `${simulation}/FoldWorld.ts`,
        text: '    if (fate === "dies") down(member);\n',
        replacement:
          '    if (fate === "dies") member.disk = { ...member.disk, outbox: after.outbox };\n    if (fate === "dies") down(member);\n',
      },
    ],
    scenario: "disks",
    seeds: 300,
  },
  {
    name: "vote-again-after-restart",
    why: "A process that starts again is the same member: it has voted.",
    edits: [
      {
        file: `${fold}/Timers.ts`,
        text: "  state.silence = null;\n  state.rounds = { ...state.rounds, stall: null, heard: [], restsUntil: null };\n",
        replacement:
          "  state.silence = null;\n  state.slot = { ...state.slot, lock: null, actionVote: null };\n  state.open = state.open.map((record) => ({ ...record, action: {} }));\n  state.rounds = { ...state.rounds, stall: null, heard: [], restsUntil: null };\n",
      },
    ],
    scenario: null,
    seeds: 300,
  },
  {
    name: "stage-again-after-restart",
    why: "A second durability vote in a slot stands against the promise of the first.",
    edits: [
      {
        file: `${fold}/Timers.ts`,
        text: "  state.silence = null;\n  state.rounds = { ...state.rounds, stall: null, heard: [], restsUntil: null };\n",
        replacement:
          "  state.silence = null;\n  state.slot = { ...state.slot, durabilityVote: null };\n  state.rounds = { ...state.rounds, stall: null, heard: [], restsUntil: null };\n",
      },
    ],
    scenario: null,
    seeds: 300,
  },
  {
    name: "drop-pending-rows",
    why: "A post that is certified without a row for its reader is never read.",
    edits: [
      {
        file: `${simulation}/Disk.ts`,
        text: "pending = [...pending, command.record.recordHash];",
        replacement: "pending = [...disk.pending, command.record.recordHash];",
      },
    ],
    scenario: null,
    seeds: 1_000,
  },
  {
    name: "restored-votes",
    why: "A member whose disk is old does not know what it voted for, and votes against it.",
    edits: [
      {
        file: `${fold}/Floor.ts`,
        text: "  return floor === null || (state.anchor?.round ?? 0) <= floor;\n",
        replacement: "  return floor === -1;\n",
      },
    ],
    scenario: "restored",
    seeds: 500,
  },
  {
    name: "floor-of-own-disk",
    why: "What the old disk knows is no bound for what its member signed since.",
    edits: [
      {
        file: `${fold}/Floor.ts`,
        text: "return Math.max(told[place - 1] ?? 0, restored.round);",
        replacement: "return restored.round;",
      },
    ],
    scenario: "restored",
    seeds: 4_000,
  },
  {
    name: "floor-of-first-answer",
    why: "One member alone may be behind, or lie, about the round that the restored one had voted in.",
    edits: [
      {
        file: `${fold}/Floor.ts`,
        text: "if (told.length < (n < 4 ? n - 1 : quorumOf(n))) return null;",
        replacement: "if (told.length < 1) return null;",
      },
    ],
    scenario: "restored",
    seeds: 4_000,
  },
  {
    name: "restored-leader-completes",
    why: "A leader without its memory may have completed its round already, from other statements.",
    edits: [
      {
        file: `${fold}/Leadership.ts`,
        text: "  if (state.restored !== null && bound <= (floorOf(state, members.n) ?? bound)) return false;\n",
        replacement: "",
      },
    ],
    scenario: "restored",
    seeds: 3_000,
  },
  {
    name: "restored-binds-on-wishes",
    why: "Who lost its memory may have stated a round that it does not remember: wishes are no cause to state it again.",
    edits: [
      {
        file: `${fold}/Rounds.ts`,
        text: "state.restored === null ? Math.max(quorumAt, statedAt) : statedAt;",
        replacement: "Math.max(quorumAt, statedAt);",
      },
    ],
    scenario: "restored",
    seeds: 1000,
  },
  {
    name: "floor-of-the-slowest",
    why: "Members that missed a round say nothing about whether this one voted in it.",
    edits: [
      {
        file: `${fold}/Floor.ts`,
        text: "const place = n < 4 ? 1 : n - 2 * faultsOf(n) - missing;",
        replacement: "const place = n < 4 ? n - 1 : Math.max(told.length, missing);",
      },
    ],
    scenario: "restored",
    seeds: 4_000,
  },
  {
    name: "old-answers-count",
    why: "An answer from before the loss does not know of the rounds in which this member voted since.",
    edits: [
      {
        file: `${fold}/Restored.ts`,
        text: "|| afterRecordHash !== restored.question) return;",
        replacement: ") return;",
      },
    ],
    scenario: "restored",
    seeds: 3_000,
  },
  {
    name: "forgotten-vote-unnoticed",
    why: "A vote of its own that its disk does not hold is how a member finds out that its memory is lost.",
    edits: [
      {
        file: `${fold}/Votes.ts`,
        text: "      if (isForgotten) heedForgotten(draft, named.recordHash, draft.roundOf(named.anchorHash));\n",
        replacement: "",
      },
    ],
    scenario: "restored",
    seeds: 300,
  },
  {
    name: "forgotten-vote-in-page-unnoticed",
    why: "A record that this member voted for and does not remember says the same when a page brings it.",
    edits: [
      {
        file: `${fold}/CatchUp.ts`,
        text: "    heedForgotten(draft, recordHash, Reanchor.bodyOf(anchor).round);\n",
        replacement: "",
      },
    ],
    scenario: "restored",
    seeds: 300,
  },
  {
    name: "old-intents-proposed",
    why: "What the lost memory may have proposed may be certified already, or be again as another record.",
    edits: [
      {
        file: `${fold}/Restored.ts`,
        text: "    if (next === null || next.createdAt > restored.at) return old;",
        replacement: "    return old;",
      },
    ],
    scenario: "restored",
    seeds: 600,
  },
];
