// Bugs of the state folder: who holds it, what others may read of it, its log, its tokens, and its copies.

import { files, type SurfaceMutant } from "./SurfaceMutant.ts";

const lock = "packages/endpoint/src/state/Lock.ts";
const processBirth = "packages/endpoint/src/state/ProcessBirth.ts";
const privateFile = "packages/endpoint/src/state/PrivateFile.ts";
const stateLog = "packages/endpoint/src/state/Log.ts";
const logFiles = "packages/endpoint/src/state/LogFiles.ts";
const leftovers = "packages/endpoint/src/state/Leftovers.ts";
const tokens = "packages/endpoint/src/state/Tokens.ts";
const restore = "packages/endpoint/src/backup/Restore.ts";
const manifest = "packages/endpoint/src/backup/Manifest.ts";
const stagedFolder = "packages/endpoint/src/backup/StagedFolder.ts";

export const folderMutants: ReadonlyArray<SurfaceMutant> = [
  {
    name: "holder-by-its-pid-alone",
    why: "A pid may be another program's by now, which would then be asked to stop.",
    edits: [
      {
        file: lock,
        text: 'const isAlive = pid > 0 && typeof born === "string" && ProcessBirth.of(pid) === born;',
        replacement: 'const isAlive = pid > 0 && typeof born === "string" && ProcessBirth.of(pid) !== null;',
      },
    ],
    test: { file: files.lock, title: "a holder is named when its process is the one that took the lock" },
  },
  {
    name: "holder-row-of-the-loser",
    why: "Of two that write themselves down the row must name the one that got the lock.",
    edits: [
      { file: lock, text: "} while (!isOwn(database, born));", replacement: "} while (born === undefined);" },
    ],
    test: { file: files.lock, title: "of two that write themselves down" },
  },
  {
    name: "holder-without-a-name",
    why: "Whoever is refused must be told who holds the folder.",
    edits: [
      {
        file: lock,
        text: '    database.exec("COMMIT");\n    database.exec("BEGIN IMMEDIATE");\n',
        replacement: "",
      },
    ],
    test: { file: files.lock, title: "a second daemon is refused and told who holds the folder" },
  },
  {
    name: "free-on-a-disk-without-changes",
    why: "On a disk that takes no change no lock was tried, so nobody knows that the folder is free.",
    edits: [
      {
        file: lock,
        text: 'if (StoreFault.isReadOnly(folder.lock)) database.exec("PRAGMA user_version = 0");',
        replacement: "",
      },
    ],
    test: { file: files.lock, title: "where the disk takes no change nobody can tell who holds it" },
  },
  {
    name: "birth-of-another-boot",
    why: "Ticks since the boot repeat with the next boot.",
    edits: [{ file: processBirth, text: "`${boot} ${ticks}`", replacement: "`${boot.length} ${ticks}`" }],
    test: { file: files.lock, title: "a birth is one of this boot" },
  },
  {
    name: "keys-that-others-read",
    why: "A key that others can read is theirs too.",
    edits: [
      {
        file: privateFile,
        text: "if ((mode & othersMask) !== 0) {",
        replacement: "if ((mode & othersMask) === othersMask) {",
      },
    ],
    test: {
      file: files.stateFolder,
      title: "loose permissions are refused with the command that repairs them",
    },
  },
  {
    name: "file-half-written",
    why: "A kill must leave the old content or the new.",
    edits: [
      {
        file: privateFile,
        text: "staged(path, text, (staging) => renameSync(staging, path));",
        replacement: "writeFileSync(path, text);",
      },
    ],
    test: { file: files.stateFolder, title: "a private file is replaced in one step" },
  },
  {
    name: "oldest-log-kept",
    why: "The newest lines are those that are looked for.",
    edits: [
      {
        file: stateLog,
        text: "for (let age = olderMax; age > 0; age--) {",
        replacement: "for (let age = 1; age <= olderMax; age++) {",
      },
    ],
    test: { file: files.log, title: "files rotate by size, the oldest goes" },
  },
  {
    name: "half-a-line-kept",
    why: "Half of a line makes its neighbour unreadable too.",
    edits: [{ file: stateLog, text: "        ftruncateSync(current(), bytes);\n", replacement: "" }],
    test: { file: files.log, title: "half of a line" },
  },
  {
    name: "lost-lines-uncounted",
    why: "A log that kept lines to itself says how many.",
    edits: [
      { file: stateLog, text: "lost = kept.length > linesKeptMax ? lost + 1 : 0;", replacement: "lost = 0;" },
    ],
    test: { file: files.log, title: "what it has no room for is counted" },
  },
  {
    name: "secret-in-the-log",
    why: "A log is sent to whoever helps.",
    edits: [
      {
        file: stateLog,
        text: "for (const secret of secrets) text = text.replaceAll(secret, struckOut);",
        replacement: "",
      },
    ],
    test: { file: files.log, title: "what has the shape of a secret, or is one that rotated" },
  },
  {
    name: "shape-of-a-secret-in-the-log",
    why: "A log is sent to whoever helps.",
    edits: [
      {
        file: stateLog,
        text: "let text = value.replace(secretShapes, struckOut);",
        replacement: "let text = value;",
      },
    ],
    test: { file: files.log, title: "what has the shape of a secret, or is one that rotated" },
  },
  {
    name: "moved-folder-made-again",
    why: "A folder that was moved away could not be put back where another one stands.",
    edits: [
      {
        file: stateLog,
        text: "mkdirSync(folder, { mode: 0o700 });",
        replacement: "mkdirSync(folder, { recursive: true, mode: 0o700 });",
      },
    ],
    test: { file: files.log, title: "a folder that was moved away is not made again" },
  },
  {
    name: "log-into-a-deleted-file",
    why: "Whoever deleted the file would never see a line again.",
    edits: [{ file: stateLog, text: "      leaveLost();\n", replacement: "" }],
    test: { file: files.log, title: "a file that was deleted or moved away is begun anew" },
  },
  {
    name: "log-file-read-twice",
    why: "A rotation between two looks brings a file that was read already.",
    edits: [
      {
        file: logFiles,
        text: "if (part === null || seen.has(part.inode)) continue;",
        replacement: "if (part === null) continue;",
      },
    ],
    test: { file: files.logFiles, title: "a file that moved on between two looks" },
  },
  {
    name: "lines-of-a-rotation-lost",
    why: "What the file held at its rotation is read before the next one.",
    edits: [
      {
        file: logFiles,
        text: "const rest = age < 0 || position === null ? null : readPart(pathOf(age), position.end, position.inode);",
        replacement:
          "const rest = age !== 0 || position === null ? null : readPart(pathOf(age), position.end, position.inode);",
      },
    ],
    test: { file: files.logFiles, title: "a follower sees each line once and in order over rotations" },
  },
  {
    name: "leftovers-of-the-living",
    why: "What a living process is about to put in place is its own.",
    edits: [
      {
        file: leftovers,
        text: "pid === process.pid || ProcessBirth.of(pid) === null",
        replacement: "pid === process.pid || ProcessBirth.of(pid) !== undefined",
      },
    ],
    test: { file: files.leftovers, title: "of one that lives it is not" },
  },
  {
    name: "one-token-for-two",
    why: "A token that two files hold would give the runtime what is the owner's.",
    edits: [
      { file: tokens, text: "      tokens[one] = null;\n      tokens[other] = null;\n", replacement: "" },
    ],
    test: { file: files.tokens, title: "two files with one token open nothing" },
  },
  {
    name: "short-token",
    why: "A token that can be guessed is none.",
    edits: [
      {
        file: tokens,
        text: "text.length >= charactersMin && pattern.test(text)",
        replacement: "pattern.test(text)",
      },
    ],
    test: { file: files.tokens, title: "a file that is not as it should be opens nothing" },
  },
  {
    name: "token-of-another-mode-in-the-log",
    why: "What a log must not hold does not depend on the mode.",
    edits: [
      {
        file: tokens,
        text: "Object.values(files).flatMap((file) => {",
        replacement: "Object.values(files).slice(0, 1).flatMap((file) => {",
      },
    ],
    test: { file: files.tokens, title: "what a log must not hold are the tokens that there are" },
  },
  {
    name: "restore-unmarked",
    why: "What was signed after the backup is forgotten: nothing may be signed before the members were asked.",
    edits: [{ file: restore, text: "    mark(db, now, manifest.digest);\n", replacement: "" }],
    test: { file: files.restore, title: "every conversation is to be told of the loss" },
  },
  {
    name: "restore-says-its-old-outbox",
    why: "What an old copy meant to send was sent, or is no longer meant.",
    edits: [{ file: restore, text: "    Outbox.drop(db);\n", replacement: "" }],
    test: { file: files.restore, title: "a restored folder holds what was certified" },
  },
  {
    name: "restore-over-a-folder",
    why: "A restore overwrites nothing.",
    edits: [
      { file: restore, text: "if (!isEmpty(folder.path)) {", replacement: 'if (folder.path === "") {' },
    ],
    test: { file: files.restore, title: "any other is left as it is" },
  },
  {
    name: "backup-not-compared",
    why: "A backup of which one bit is flipped is used for nothing.",
    edits: [
      {
        file: manifest,
        text: "if (found.bytes !== expected.bytes || found.sha256 !== expected.sha256) {",
        replacement: "if (found.bytes !== expected.bytes) {",
      },
    ],
    test: { file: files.restore, title: "with any bit flipped, or a file missing, is told as damaged" },
  },
  {
    name: "copy-not-compared",
    why: "What was copied is what is restored, not what stood there before.",
    edits: [{ file: restore, text: "  await Manifests.demandFiles(staging, manifest);\n", replacement: "" }],
    test: { file: files.stagedFolder, title: "a file that became another one on the way is not restored" },
  },
  {
    name: "folder-renamed-before-its-sync",
    why: "A power cut behind the rename would leave a folder of empty files.",
    edits: [{ file: stagedFolder, text: "    flushAll(staging);\n", replacement: "" }],
    test: { file: files.stagedFolder, title: "every file and folder is synced before the rename" },
  },
  {
    name: "restore-of-an-unchecked-store",
    why: "A restore makes nothing on which a daemon would not start.",
    edits: [
      {
        file: restore,
        text: "    await check(db, { verifier: Ed25519.verifier, registryKey });\n",
        replacement: "",
      },
    ],
    test: { file: files.craftedBackup, title: "a restore checks the store as a start does" },
  },
  {
    name: "restore-of-other-keys",
    why: "A store speaks for the agent of its keys alone.",
    edits: [{ file: restore, text: "    boundCard(db, identity);\n", replacement: "" }],
    test: { file: files.craftedBackup, title: "and that it is of the keys beside it" },
  },
];
