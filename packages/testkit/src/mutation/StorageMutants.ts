// Bugs of the store and its file: what a full disk, a foreign lock, a power cut, a lost file or another program's schema would
// then do to what was promised.

import { files, type SurfaceMutant } from "./SurfaceMutant.ts";

const storeFile = "packages/endpoint/src/store/StoreFile.ts";
const schema = "packages/endpoint/src/store/Schema.ts";
const database = "packages/endpoint/src/store/Database.ts";
const turns = "packages/endpoint/src/store/Turns.ts";
const storeStanding = "packages/endpoint/src/store/StoreStanding.ts";
const openFiles = "packages/endpoint/src/store/OpenFiles.ts";
const storeFault = "packages/endpoint/src/store/StoreFault.ts";
const endpoint = "packages/endpoint/src/Endpoint.ts";
const startUpCheck = "packages/endpoint/src/store/StartUpCheck.ts";

export const storageMutants: ReadonlyArray<SurfaceMutant> = [
  {
    name: "log-beside-a-lost-store",
    why: "A write-ahead log whose store is gone is the last copy of what was certified, and SQLite would delete it.",
    edits: [{ file: storeFile, text: "if ((sizeOf(log) ?? 0) > 0) return log;", replacement: "" }],
    test: {
      file: files.storeFile,
      title: "a write-ahead log beside a lost or cut-off file is never deleted",
    },
  },
  {
    name: "any-journal-is-a-loss",
    why: "A first start that was killed leaves a journal, and must be able to begin again.",
    edits: [{ file: storeFile, text: "return pages.readUInt32BE() > 0;", replacement: "return true;" }],
    test: { file: files.storeFile, title: "one of a first start is its own" },
  },
  {
    name: "stub-is-a-new-store",
    why: "A file that is too short for a database was cut off: a new store in its place would forget everything.",
    edits: [
      {
        file: storeFile,
        text: "if (left === null && (size ?? 0) === 0) return;",
        replacement: "if (left === null) return;",
      },
    ],
    test: { file: files.storeFile, title: "a file too short for a database is no new one" },
  },
  {
    name: "newer-schema-opened",
    why: "An older program that writes into a newer store breaks what it does not know.",
    edits: [
      {
        file: schema,
        text: "if (version > steps.length) throw newer(version, steps.length);",
        replacement: "if (version > steps.length) return version;",
      },
    ],
    test: { file: files.schema, title: "a newer store is refused by its number" },
  },
  {
    name: "foreign-tables-opened",
    why: "A store whose tables are those of no release is somebody else's.",
    edits: [
      {
        file: schema,
        text: "if (expected === fingerprintOf(sqlite)) return version;",
        replacement: "if (expected !== undefined) return version;",
      },
    ],
    test: { file: files.schema, title: "a store whose tables are those of no release" },
  },
  {
    name: "half-a-migration",
    why: "A step that fails half-way must leave nothing of itself.",
    edits: [
      {
        file: schema,
        text: 'if (sqlite.isTransaction) sqlite.exec("ROLLBACK");',
        replacement: 'if (sqlite.isTransaction) sqlite.exec("COMMIT");',
      },
    ],
    test: { file: files.schema, title: "a step that fails half-way leaves the store at the version before" },
  },
  {
    name: "commit-without-sync",
    why: "A commit that is not on the disk is gone with the next power cut, after it was promised.",
    edits: [
      {
        file: database,
        text: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;",
        replacement: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;",
      },
    ],
    test: { file: files.database, title: "every commit is on the disk before it returns" },
  },
  {
    name: "inner-transaction-kept",
    why: "Work that failed must not leave half of itself in the transaction around it.",
    edits: [
      {
        file: database,
        text: "`ROLLBACK TO level${level}; RELEASE level${level}`",
        replacement: "`RELEASE level${level}`",
      },
    ],
    test: { file: files.database, title: "nested transactions are savepoints" },
  },
  {
    name: "write-after-giving-up",
    why: "After SQLite gave up a transaction each further statement is written for good, on its own.",
    edits: [
      {
        file: database,
        text: "if (level > 0 && !sqlite.isTransaction) {",
        replacement: "if (level > 1_000) {",
      },
    ],
    test: {
      file: files.database,
      title: "nothing is written piece by piece after SQLite gave up a transaction",
    },
  },
  {
    name: "log-that-only-grows",
    why: "What a stalled reader made the write-ahead log grow to would stay for ever.",
    edits: [
      {
        file: database,
        text: "PRAGMA journal_size_limit = ${walBytesKeptMax}",
        replacement: "PRAGMA journal_size_limit = -1",
      },
    ],
    test: {
      file: files.writeAheadLog,
      title: "what a stalled reader of another process made it grow to is given back",
    },
  },
  {
    name: "state-of-failed-work",
    why: "What undone work left in memory would be said although it is not on the disk.",
    edits: [
      {
        file: turns,
        text: "      turn.state = before;\n      return () => entry.reject(error);",
        replacement: "      return () => entry.reject(error);",
      },
    ],
    test: { file: files.turns, title: "work that throws is undone alone" },
  },
  {
    name: "turn-after-giving-up",
    why: "A turn that SQLite gave up must not write its end.",
    edits: [{ file: turns, text: "if (!db.inTransaction()) throw gaveUp();", replacement: "" }],
    test: { file: files.turns, title: "a transaction that SQLite gave up by itself rejects the whole turn" },
  },
  {
    name: "order-lost-behind-a-lock",
    why: "Work that waited for a foreign lock comes before what came after it.",
    edits: [{ file: turns, text: "queue.unshift(...entries);", replacement: "queue.push(...entries);" }],
    test: { file: files.turns, title: "work waits for a foreign lock and keeps its order" },
  },
  {
    name: "answer-before-the-commit",
    why: "Nothing may be promised that is not on the disk.",
    edits: [
      {
        file: turns,
        text: "return () => entry.resolve(result);",
        replacement: "entry.resolve(result);\n      return () => undefined;",
      },
    ],
    test: { file: files.turns, title: "a commit that fails rejects everything in it" },
  },
  {
    name: "committed-and-not-answered",
    why: "What is committed is answered, whatever the next look at the store says.",
    edits: [
      {
        file: turns,
        text: "if (!isStoreFailure(error)) throw error;\n    } finally {\n      for (const settle of settlements) settle();\n    }",
        replacement:
          "if (!isStoreFailure(error)) throw error;\n      return;\n    }\n    for (const settle of settlements) settle();",
      },
    ],
    test: {
      file: files.turns,
      title: "what is committed is answered although the next look at the store fails",
    },
  },
  {
    name: "lock-said-at-once",
    why: "Many programs look into a store for a moment, and none of them is worth a line.",
    edits: [
      {
        file: storeStanding,
        text: 'if (reason !== "locked") begin(reason, error);',
        replacement: "begin(reason, error);",
      },
    ],
    test: { file: files.storeStanding, title: "a lock is a trouble when it lasts" },
  },
  {
    name: "same-trouble-said-again",
    why: "A disk that is nearly full would fill the log.",
    edits: [
      {
        file: storeStanding,
        text: "isSaid = !isRelapse;",
        replacement: "isSaid = true;",
      },
    ],
    test: {
      file: files.storeStanding,
      title: "a disk that is full again and again within a minute says so once",
    },
  },
  {
    name: "trouble-by-a-clock-that-went-back",
    why: "A clock that was set back must not make an old trouble of a new one.",
    edits: [
      {
        file: storeStanding,
        text: "Math.abs(now - last.endedAt) <= relapseMs",
        replacement: "now - last.endedAt <= relapseMs",
      },
    ],
    test: { file: files.storeStanding, title: "a clock that was set back since" },
  },
  {
    name: "full-disk-over-too-soon",
    why: "A write that still fits shows no room for the next one.",
    edits: [
      {
        file: storeStanding,
        text: 'if (trouble?.reason === "full" && !StoreFault.hasRoom(path)) return watch();',
        replacement: "",
      },
    ],
    test: { file: files.storeStanding, title: "a disk is full until it has room" },
  },
  {
    name: "trouble-over-each-second",
    why: "What small writes get past and larger ones do not would be over each second.",
    edits: [
      {
        file: storeStanding,
        text: "awayMs = isRelapse ? Math.min(Math.max(2 * awayMs, awayMsMin), awayMsMax) : 0;",
        replacement: "awayMs = isRelapse && awayMsMin > awayMsMax ? 1 : 0;",
      },
    ],
    test: {
      file: files.storeStanding,
      title: "what small writes get past and larger ones do not is not over each second",
    },
  },
  {
    name: "refused-store-folded",
    why: "A start that refuses a store must leave the log of the killed daemon beside it.",
    edits: [{ file: endpoint, text: "  opened.push(guard.close);\n", replacement: "  guard.close();\n" }],
    test: {
      file: files.endpoint,
      title: "a start that refuses a store leaves its file and its write-ahead log byte for byte",
    },
  },
  {
    name: "log-kept-by-a-check",
    why: "A check of a whole store that holds one moment of it keeps the write-ahead log growing under a daemon.",
    edits: [
      {
        file: startUpCheck,
        text: "    release();\n    walk.head = await verifying;\n",
        replacement: "    walk.head = await verifying;\n",
      },
    ],
    test: {
      file: files.fullCheck,
      title: "a full check keeps the log of a daemon from being folded no longer than it reads a page",
    },
  },
  {
    name: "transaction-cut-in-the-middle",
    why: "A transaction that has begun ends as a whole.",
    edits: [
      { file: storeStanding, text: "if (!db.inTransaction()) demandPlace();", replacement: "demandPlace();" },
    ],
    test: { file: files.storeStanding, title: "a transaction that has begun ends as a whole" },
  },
  {
    name: "replaced-file-unseen",
    why: "A file that took the store's place keeps nothing of what is written to the one before.",
    edits: [{ file: openFiles, text: "`${stats.dev} ${stats.ino}`", replacement: "`${stats.dev}`" }],
    test: { file: files.storeStanding, title: "a file that was deleted, moved or replaced under the store" },
  },
  {
    name: "full-by-a-quota",
    why: "A quota makes a disk full that has room for others.",
    edits: [
      {
        file: storeFault,
        text: 'return fault === "full" || hasRoom(path) ? fault : "full";',
        replacement: 'return hasRoom(path) ? "input-output" : "full";',
      },
    ],
    test: { file: files.storeStanding, title: "a disk is full until it has room" },
  },
  {
    name: "lock-of-the-log-index",
    why: "SQLite has more than one word for a lock.",
    edits: [
      { file: storeFault, text: '15: "locked", // PROTOCOL', replacement: '15: "unavailable", // PROTOCOL' },
    ],
    test: {
      file: files.storeStanding,
      title: "each way in which SQLite says that another program is in the way",
    },
  },
  {
    name: "pages-unchecked",
    why: "Rows can be believed only where the pages and indexes are whole.",
    edits: [{ file: startUpCheck, text: "    checkFile(db);\n", replacement: "" }],
    test: { file: files.changedFile, title: "an index that leads elsewhere is refused at start-up" },
  },
  {
    name: "checkpoint-beyond-the-end",
    why: "A store that lost its newest records says by its checkpoint that it had them.",
    edits: [
      {
        file: startUpCheck,
        text: "if (checkpoint > lastSequence) throw damagedStore",
        replacement: "if (checkpoint > Number.MAX_SAFE_INTEGER) throw damagedStore",
      },
    ],
    test: { file: files.changedRow, title: "a checkpoint beyond the records that there are is damage" },
  },
  {
    name: "chain-with-a-hole",
    why: "A record that does not follow the one before it is no history.",
    edits: [
      {
        file: startUpCheck,
        text: "if (action.height !== walk.height + 1 || action.previousRecordHash !== walk.recordHash) {",
        replacement: "if (action.height < walk.height) {",
      },
    ],
    test: { file: files.changedRow, title: "a record that was taken away is missed" },
  },
];
