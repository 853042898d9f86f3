// Bugs of search_conversations and read_conversation: pages that repeat, skip or thaw, capabilities that are good twice, and
// records that leave unverified.

import { files, type SurfaceMutant } from "./SurfaceMutant.ts";

const history = "packages/endpoint/src/operations/History.ts";
const continuations = "packages/endpoint/src/operations/Continuations.ts";
const records = "packages/endpoint/src/store/RecordRows.ts";

export const historyMutants: ReadonlyArray<SurfaceMutant> = [
  {
    name: "has-more-off-by-one",
    why: "Whoever is promised another page and gets none looks for what is not there.",
    edits: [
      {
        file: history,
        text: "hasMore: rows.length > addresses.length",
        replacement: "hasMore: rows.length >= Limits.conversationPageAddressesMax",
      },
    ],
    test: { file: files.conversationPages, title: "a page of conversations is what the model says" },
  },
  {
    name: "after-address-inclusive",
    why: "A bound that is found again makes every page begin with the last one's end.",
    edits: [{ file: history, text: "AND address > ? ORDER BY", replacement: "AND address >= ? ORDER BY" }],
    test: { file: files.conversationPages, title: "a page of conversations is what the model says" },
  },
  {
    name: "uncertified-found",
    why: "What nobody certified is no conversation yet.",
    edits: [{ file: history, text: "WHERE head_height IS NOT NULL AND", replacement: "WHERE" }],
    test: { file: files.conversationPages, title: "a page of conversations is what the model says" },
  },
  {
    name: "any-bound-taken",
    why: "A misspelt bound that is taken sorts somewhere and skips what lies before it.",
    edits: [
      {
        file: history,
        text: "afterAddress !== undefined && !Address.isMessageAddress(afterAddress)",
        replacement: 'afterAddress === "no address"',
      },
    ],
    test: { file: files.conversationPages, title: "a bound that is no canonical address" },
  },
  {
    name: "after-record-inclusive",
    why: "A reader that goes on after a record must not get it again.",
    edits: [
      {
        file: history,
        text: "return { conversationId, after, through: head };",
        replacement: "return { conversationId, after: Math.max(-1, after - 1), through: head };",
      },
    ],
    test: { file: files.historyPages, title: "a read is the chain as it was when it began" },
  },
  {
    name: "snapshot-thaws",
    why: "A read whose end moves is no picture of one moment.",
    edits: [
      {
        file: history,
        text: "    through: through.height,",
        replacement: "    through: Number.MAX_SAFE_INTEGER,",
      },
      {
        file: history,
        text: "after + records.length !== through.height",
        replacement: "after + records.length < through.height",
      },
    ],
    test: { file: files.historyPages, title: "a snapshot ends where it ended when it began" },
  },
  {
    name: "continuation-reusable",
    why: "A capability that is good twice can be handed on.",
    edits: [
      {
        file: continuations,
        text: "const found = live.get(continuation);\n      live.delete(continuation);",
        replacement: "const found = live.get(continuation);",
      },
    ],
    test: { file: files.historyPages, title: "of many calls with one continuation exactly one" },
  },
  {
    name: "continuation-trimmed",
    why: "One capability has one spelling.",
    edits: [
      {
        file: continuations,
        text: "const found = live.get(continuation);",
        replacement: 'const found = live.get(continuation.replace(/[\\s=]+/g, ""));',
      },
    ],
    test: { file: files.historyPages, title: "no other spelling of a live continuation" },
  },
  {
    name: "collision-unchecked",
    why: "Two snapshots under one continuation show one reader the other's history.",
    edits: [
      {
        file: continuations,
        text: "while (live.has(continuation) || continuation === spent)",
        replacement: "while (continuation === spent)",
      },
    ],
    test: { file: files.continuations, title: "whatever a repeating source draws" },
  },
  {
    name: "spent-minted-again",
    why: "A successor with the same name makes the spent one good again.",
    edits: [
      {
        file: continuations,
        text: "live.has(continuation) || continuation === spent",
        replacement: "live.has(continuation)",
      },
    ],
    test: { file: files.continuations, title: "another than the one that was just spent" },
  },
  {
    name: "continuations-never-expire",
    why: "A capability that nobody uses should not live for ever.",
    edits: [{ file: continuations, text: "expiresAt <= now || ", replacement: "" }],
    test: { file: files.historyPages, title: "a continuation that has expired" },
  },
  {
    name: "snapshots-unbounded",
    why: "Whoever begins reads and never ends them must not fill the memory.",
    edits: [{ file: continuations, text: " || live.size > liveMax", replacement: "" }],
    test: { file: files.continuations, title: "at most 256 snapshots" },
  },
  {
    name: "page-unbounded-in-bytes",
    why: "Hosts read a page whole.",
    edits: [
      {
        file: history,
        text: "bytesMax: Limits.historyPageBytesMax",
        replacement: "bytesMax: Limits.historyPageBytesMax * 50",
      },
    ],
    test: { file: files.history, title: "C75: a page stops before 2 MiB" },
  },
  {
    name: "page-of-49",
    why: "A page that ends early makes every reader ask more often than it must.",
    edits: [
      {
        file: history,
        text: "countMax: Limits.historyPageRecordsMax",
        replacement: "countMax: Limits.historyPageRecordsMax - 1",
      },
    ],
    test: { file: files.historyPages, title: "a page ends exactly with its fiftieth record" },
  },
  {
    name: "page-unverified",
    why: "A record is believed because it verifies, not because it is stored.",
    edits: [
      {
        file: history,
        text: "await verifyRecords(trust, headBefore(db, conversation, first), records, ancestry, between);",
        replacement: "await Promise.resolve([verifyRecords, trust, ancestry, between, headBefore]);",
      },
    ],
    test: { file: files.historyEvidence, title: "evidence that is unsorted, repeated" },
  },
  {
    name: "evidence-unsorted",
    why: "Whoever compares two copies of a record compares their evidence in one order.",
    edits: [
      {
        file: history,
        text: '    kind: "page",\n    records,\n',
        replacement:
          '    kind: "page",\n    records: records.map((one) => ({ ...one, actionSignatures: one.actionSignatures.toReversed() })),\n',
      },
    ],
    test: { file: files.historyEvidence, title: "each record's evidence can be audited" },
  },
  {
    name: "commit-order-unchecked",
    why: "Start-up would refuse the store that this page comes from.",
    edits: [
      {
        file: records,
        text: ") === undefined;\n\n/** What the fields",
        replacement: ") !== null;\n\n/** What the fields",
      },
    ],
    test: { file: files.historyEvidence, title: "committed out of order" },
  },
  {
    name: "anchors-unchecked",
    why: "A record stands under an anchor that this endpoint has accepted.",
    edits: [
      {
        file: history,
        text: "if (AnchorRows.find(db, conversationId, anchorHash) === null)",
        replacement: "if (AnchorRows.find(db, conversationId, anchorHash) === undefined)",
      },
    ],
    test: { file: files.historyEvidence, title: "whose anchor is no longer kept" },
  },
  {
    name: "gaps-ignored",
    why: "A history with a hole in it reads like another history.",
    edits: [
      {
        file: history,
        text: "  refuseGaps(db, snapshot, records, hasMore);",
        replacement: "  void refuseGaps;",
      },
    ],
    test: { file: files.changedRow, title: "a record that was taken away is missed" },
  },
  {
    name: "unknown-agent-forgotten",
    why: "A misspelt name and a silent history are told apart.",
    edits: [
      {
        file: history,
        text: "if ((await registry.lookupByName(name, call)) === null)",
        replacement: "if ((await registry.lookupByName(name, call)) === undefined)",
      },
    ],
    test: { file: files.history, title: "what is not here is told apart" },
  },
];
