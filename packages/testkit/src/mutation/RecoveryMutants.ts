// Bugs of what a start does about requests that an earlier process has shown: losses that nobody is told of, or twice, and
// requests that nobody can answer and are offered all the same.

import { files, type SurfaceMutant } from "./SurfaceMutant.ts";

const endpoint = "packages/endpoint/src";
const recovery = `${endpoint}/ingress/Recovery.ts`;
const root = `${endpoint}/Endpoint.ts`;

const model = { file: files.recoveryModel, title: "those of the model" };
const daemon = { file: files.lostRequest, title: "a start retires what was shown before it" };
const transaction = "db.transaction(() => retire(lost, options))";

export const recoveryMutants: ReadonlyArray<SurfaceMutant> = [
  {
    name: "lost-request-stays",
    why: "A host would read what it can no longer answer.",
    edits: [
      {
        file: recovery,
        text: "for (const { token } of requests) Inbox.acknowledge(db, token, now);",
        replacement: "",
      },
    ],
    test: model,
  },
  {
    name: "loss-not-told",
    why: "A request would be gone, and nobody would know.",
    edits: [
      { file: recovery, text: "    admit(db, { item, now, random }, conversationId);\n", replacement: "" },
    ],
    test: model,
  },
  {
    name: "loss-told-without-transaction",
    why: "A kill between the two would leave a request that is gone without a word.",
    edits: [{ file: recovery, text: transaction, replacement: "retire(lost, options)" }],
    test: { file: files.recoveryCrash, title: "in the middle of many requests" },
  },
  {
    name: "lost-request-delivered",
    why: "A webhook would get what nobody can answer any more.",
    edits: [{ file: root, text: "onRetired: Occurrence.drop,", replacement: "onRetired: () => undefined," }],
    test: daemon,
  },
  {
    name: "recovery-after-classification",
    why: "What this process shows itself it remembers, and would tell of as lost.",
    edits: [
      {
        file: root,
        text: "const retired = Recovery.recover({",
        replacement: "const retired = 0;\n      const recover = () => Recovery.recover({",
      },
      {
        file: root,
        text: "await wall.start(agent.turns);",
        replacement: "recover();\n      await wall.start(agent.turns);",
      },
    ],
    test: daemon,
  },
  {
    name: "no-recovery",
    why: "Everything that recovery is for.",
    edits: [
      {
        file: root,
        text: "answerable: new Set(),",
        replacement: "answerable: { has: () => true } as never,",
      },
    ],
    test: daemon,
  },
  {
    name: "loss-passes-queue",
    why: "It would stand before messages that came before it.",
    edits: [
      {
        file: root,
        text: "admit: wall.admit,",
        replacement: "admit: (at, admission) => Inbox.admit(at, admission) !== undefined,",
      },
    ],
    test: daemon,
  },
  {
    name: "answerable-request-retired",
    why: "A host would be told that it cannot do what it can.",
    edits: [{ file: recovery, text: "!answerable.has(requestId)", replacement: "requestId.length > 0" }],
    test: { file: files.recovery, title: "that this process can answer stays" },
  },
  {
    name: "recovery-ends-early",
    why: "Requests behind one that can be answered would stay in the inbox.",
    edits: [
      {
        file: recovery,
        text: "requests.length < Limits.recoveryRequestsMax",
        replacement: "lost.length < Limits.recoveryRequestsMax",
      },
    ],
    test: { file: files.recovery, title: "that this process can answer stays" },
  },
  {
    name: "losses-backwards",
    why: "What tells of them would be in another order than what it tells of.",
    edits: [
      {
        file: recovery,
        text: "ORDER BY inbox.sequence LIMIT",
        replacement: "ORDER BY inbox.sequence DESC LIMIT",
      },
    ],
    test: { file: files.recovery, title: "comes in their order" },
  },
  {
    name: "acknowledged-request-retired",
    why: "Each start would tell of every request that ever was.",
    edits: [
      { file: recovery, text: "inbox INDEXED BY inbox_request", replacement: "inbox" },
      {
        file: recovery,
        text: "request_id IS NOT NULL AND acknowledged_at IS NULL",
        replacement: "request_id IS NOT NULL",
      },
    ],
    test: { file: files.recovery, title: "an acknowledged request is left alone" },
  },
  {
    name: "queue-forgets-request",
    why: "A request that a firewall had let through would be read for ever by hosts that cannot answer it.",
    edits: [
      {
        file: `${endpoint}/firewall/Queue.ts`,
        text: "    ...(requestId === null ? {} : { requestId }),\n",
        replacement: "",
      },
    ],
    test: model,
  },
  {
    name: "release-forgets-request",
    why: "So would one that its owner has released.",
    edits: [
      {
        file: `${endpoint}/firewall/HoldRows.ts`,
        text: 'row["request_id"] === null',
        replacement: 'row["hold_id"] !== null',
      },
    ],
    test: { file: files.recovery, title: "queued, held and released" },
  },
];
