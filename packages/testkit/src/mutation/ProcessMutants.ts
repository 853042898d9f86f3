// Bugs of processes that come and go: which daemon is the one that is meant, who is stopped for whom, and what a Router or a
// Registry keeps of its log.

import { files, type SurfaceMutant } from "./SurfaceMutant.ts";

const located = "packages/cli/src/daemon/Located.ts";
const holding = "packages/cli/src/daemon/Holding.ts";
const endpointFile = "packages/endpoint/src/state/EndpointFile.ts";
const replacing = "packages/cli/src/daemon/Replacing.ts";
const lostStore = "packages/cli/src/daemon/LostStore.ts";
const health = "packages/endpoint/src/operations/Health.ts";
const logTrouble = "packages/log/src/LogTrouble.ts";
const groupCommit = "packages/log/src/GroupCommit.ts";
const sqliteSchema = "packages/log/src/SqliteSchema.ts";
const sqliteFile = "packages/log/src/SqliteFile.ts";

export const processMutants: ReadonlyArray<SurfaceMutant> = [
  {
    name: "any-answer-is-a-proof",
    why: "A token shown to whoever sits on an old port is theirs.",
    edits: [
      {
        file: located,
        text: "if (answer === StartSecret.answer(secret, challenge)) return;",
        replacement: "if (answer !== null) return;",
      },
    ],
    test: { file: files.located, title: "another endpoint's daemon on the old port posts nothing" },
  },
  {
    name: "daemon-by-its-pid-alone",
    why: "A pid lives again as another program.",
    edits: [
      {
        file: holding,
        text: 'holder.kind === "process" && holder.pid === pid && holder.born === born;',
        replacement: 'holder.kind === "process" && holder.pid === pid;',
      },
    ],
    test: {
      file: files.located,
      title: "a file of an earlier daemon is not taken for that of the one that starts now",
    },
  },
  {
    name: "file-of-another-start-removed",
    why: "A daemon whose folder was moved away must leave the file of the one in its place.",
    edits: [
      {
        file: endpointFile,
        text: "if (written?.secret === secret) remove(folder);",
        replacement: "if (written !== null) remove(folder);",
      },
    ],
    test: { file: files.located, title: "a daemon whose folder was moved away leaves the file" },
  },
  {
    name: "stopped-for-nothing",
    why: "A daemon must not be stopped for one that cannot start.",
    edits: [
      {
        file: replacing,
        text: '  await output.during("Looking whether this one can start", demandStartable(before));\n',
        replacement: "",
      },
    ],
    test: { file: files.replace, title: "nobody is asked to stop for a daemon that cannot start" },
  },
  {
    name: "waiting-for-the-next-holder",
    why: "Whoever takes the folder after the one that was asked is nobody's to wait for.",
    edits: [
      {
        file: replacing,
        text: 'return holder?.kind === "process" && holder.pid === pid;',
        replacement: "return holder !== null;",
      },
    ],
    test: { file: files.replacing, title: "whoever takes the folder after the one that was asked" },
  },
  {
    name: "another-users-daemon",
    why: "A holder that may not be asked is named.",
    edits: [
      {
        file: replacing,
        text: 'if (code !== "EPERM") throw error;',
        replacement: 'if (code === "EPERM") throw error;',
      },
    ],
    test: { file: files.replacing, title: "the holder of another user is left alone" },
  },
  {
    name: "lost-store-served-as-new",
    why: "A new store in the place of a lost one is silent about the loss.",
    edits: [
      {
        file: lostStore,
        text: "if (registration === null) return;\n  const { agentName } = registration;\n  throw failed(",
        replacement:
          "if (registration !== undefined) return;\n  const { agentName } = registration;\n  throw failed(",
      },
    ],
    test: { file: files.lostStore, title: "a store that is missing or empty is refused and left so" },
  },
  {
    name: "ready-with-a-broken-store",
    why: "A supervisor must not send work to an endpoint that cannot take it.",
    edits: [
      {
        file: health,
        text: "if (storeTrouble !== null) return `store-${storeTrouble.reason}`;",
        replacement: "",
      },
    ],
    test: { file: files.readiness, title: "the status tells whether it is ready" },
  },
  {
    name: "services-trouble-over-too-soon",
    why: "A read that works ends no trouble of the write.",
    edits: [
      {
        file: logTrouble,
        text: 'if (trouble === null || (use === "beside" && trouble.use === "main")) return;',
        replacement: "if (trouble === null) return;",
      },
    ],
    test: { file: files.logTrouble, title: "what works beside a write ends no trouble of the write" },
  },
  {
    name: "services-trouble-said-again",
    why: "What fails again within a minute is the same trouble.",
    edits: [
      {
        file: logTrouble,
        text: "const isSaid = Math.abs(since - endedAt) > relapseMs;",
        replacement: "const isSaid = since !== null;",
      },
    ],
    test: { file: files.logTrouble, title: "a trouble of a log is said once when it begins" },
  },
  {
    name: "services-unit-after-giving-up",
    why: "A unit of a transaction that SQLite gave up must fail with its group.",
    edits: [{ file: groupCommit, text: "if (!database.isTransaction) throw cause;", replacement: "" }],
    test: { file: files.sqliteLog, title: "a full disk fails the whole group" },
  },
  {
    name: "services-answer-before-the-commit",
    why: "Nothing settles that is not on the disk.",
    edits: [
      {
        file: groupCommit,
        text: "return () => resolve(result);",
        replacement: "resolve(result);\n        return () => undefined;",
      },
    ],
    test: { file: files.sqliteLog, title: "though each unit of it worked, fails them all" },
  },
  {
    name: "services-failed-unit-kept",
    why: "A unit that failed must leave nothing in the transaction of the others.",
    edits: [{ file: groupCommit, text: "        undo.run();\n", replacement: "" }],
    test: { file: files.sqliteLog, title: "a unit that throws is undone alone" },
  },
  {
    name: "services-order-lost-behind-a-lock",
    why: "Units that waited for a foreign lock come before those behind them.",
    edits: [
      {
        file: groupCommit,
        text: "queue = [...group, ...queue];",
        replacement: "queue = [...queue, ...group];",
      },
    ],
    test: {
      file: files.sqliteLog,
      title: "units wait while another process holds the file, and keep their order",
    },
  },
  {
    name: "services-commit-without-sync",
    why: "An entry that is not on the disk is gone with the next power cut, after it was promised.",
    edits: [
      { file: sqliteSchema, text: "PRAGMA synchronous = FULL;", replacement: "PRAGMA synchronous = NORMAL;" },
    ],
    test: { file: files.sqliteLog, title: "a commit is a write-ahead log that is synced in full" },
  },
  {
    name: "services-log-beside-a-lost-file",
    why: "A write-ahead log whose file is gone is the last copy of what was accepted.",
    edits: [{ file: sqliteFile, text: "if ((sizeOf(log) ?? 0) > 0) return log;", replacement: "" }],
    test: {
      file: files.sqliteFile,
      title: "a log whose file is lost, empty or cut off beside its write-ahead log",
    },
  },
  {
    name: "services-log-gone-unseen",
    why: "What a service appends to a log that was taken away is gone with its next stop.",
    edits: [
      {
        file: groupCommit,
        text: "      demandPlace();\n      begin.run();",
        replacement: "      begin.run();",
      },
    ],
    test: { file: files.openFiles, title: "a log whose file was deleted, moved or replaced under it" },
  },
  {
    name: "services-torn-page-served",
    why: "A torn page would be served around until somebody needs it.",
    edits: [{ file: sqliteSchema, text: "    demandSound(database);\n", replacement: "" }],
    test: { file: files.sqliteLog, title: "a torn page anywhere is refused before anything is touched" },
  },
];
