// Bugs between a commit and the host: posts that come twice, not at all or to the wrong one, pages that repeat or skip, and
// turns that are half undone.

import type { Mutant } from "./Mutant.ts";

const classify = "packages/endpoint/src/ingress/Classify.ts";
const inbox = "packages/endpoint/src/ingress/Inbox.ts";

const ingress = { scenario: "ingress", seeds: 100 } as const;

export const ingressMutants: ReadonlyArray<Mutant> = [
  {
    name: "pending-row-stays",
    why: "A row that outlives its classification admits its post again.",
    edits: [
      {
        file: classify,
        text: 'db.run("DELETE FROM pending WHERE sequence = ?", row.sequence);',
        replacement: "",
      },
    ],
    ...ingress,
  },
  {
    name: "own-posts-offered",
    why: "An agent that reads its own posts answers itself.",
    edits: [
      {
        file: classify,
        text: 'if (postIntent.authorAgentId === pass.self) return "own-post";',
        replacement: "",
      },
      {
        file: "packages/endpoint/src/conversations/CommandRows.ts",
        text: "recordCore.action.authorAgentId !== self",
        replacement: "recordCore.action.authorAgentId.length > self.length - 1",
      },
    ],
    ...ingress,
  },
  {
    name: "genesis-not-pending",
    why: "The first post of a conversation is a post.",
    edits: [
      {
        file: "packages/endpoint/src/conversations/CommandRows.ts",
        text: "recordCore.action.authorAgentId !== self",
        replacement: "recordCore.action.authorAgentId !== self && recordCore.action.height > 0",
      },
    ],
    ...ingress,
  },
  {
    name: "classified-backwards",
    why: "Answers would stand before what they answer.",
    edits: [
      {
        file: classify,
        text: "WHERE sequence > ? ORDER BY sequence LIMIT ?",
        replacement: "WHERE sequence > ? ORDER BY sequence DESC LIMIT ?",
      },
    ],
    ...ingress,
  },
  {
    name: "collective-part-delivered",
    why: "A host gets what members said, not how the protocol carried it.",
    edits: [
      {
        file: "packages/endpoint/src/ingress/CollectivePart.ts",
        text: '? "content-empty" : [first, ...rest];',
        replacement: '? "content-empty" : (content as readonly [ContentPart]);',
      },
    ],
    ...ingress,
  },
  {
    name: "unknown-collective-delivered",
    why: "An operation of a later version means something else than its text alone.",
    edits: [
      {
        file: "packages/endpoint/src/ingress/CollectivePart.ts",
        text: "Object.keys(value).length === 2 &&",
        replacement: "",
      },
    ],
    ...ingress,
  },
  {
    name: "failure-not-told",
    why: "An agent waits for ever for a post that was withdrawn.",
    edits: [
      {
        file: "packages/endpoint/src/conversations/Admission.ts",
        text: 'if (outcome !== "certified") told =',
        replacement: 'if (outcome === "refused") told =',
      },
    ],
    ...ingress,
    seeds: 300,
  },
  {
    name: "lost-turn-kept",
    why: "A turn that died before its commit has not happened.",
    edits: [
      {
        file: "packages/endpoint/src/store/Database.ts",
        text: 'sqlite.exec(level === 0 ? "ROLLBACK" :',
        replacement: 'sqlite.exec(level === 0 ? "COMMIT" :',
      },
    ],
    ...ingress,
  },
  {
    name: "acknowledged-shown",
    why: "What a host has dealt with must not come back.",
    edits: [
      {
        file: inbox,
        text: "INDEXED BY inbox_unread\n     WHERE acknowledged_at IS NULL AND sequence > ?",
        replacement: "WHERE sequence > ?",
      },
    ],
    ...ingress,
  },
  {
    name: "acknowledgment-deletes",
    why: "Without its tombstone an item's token would be unknown when it is acknowledged again.",
    edits: [
      {
        file: inbox,
        text: "UPDATE inbox SET acknowledged_at = ? WHERE delivery_token = ? AND acknowledged_at IS NULL",
        replacement: "DELETE FROM inbox WHERE ? >= 0 AND delivery_token = ?",
      },
    ],
    ...ingress,
  },
  {
    name: "traversal-unbounded",
    why: "A traversal that takes in what arrives meanwhile need never end.",
    edits: [
      {
        file: inbox,
        text: "{ after: 0, through: lastSequence(db) }",
        replacement: "{ after: 0, through: lastSequence(db) + 1_000 }",
      },
    ],
    ...ingress,
  },
  {
    name: "page-repeats-its-last",
    why: "Over a traversal every item appears once.",
    edits: [
      {
        file: inbox,
        text: "const after = chosen.at(-1) as number;",
        replacement: "const after = chosen.at(-2) as number;",
      },
    ],
    ...ingress,
  },
  {
    name: "page-skips-one",
    why: "What a traversal leaves out nobody reads.",
    edits: [
      {
        file: inbox,
        text: "const after = chosen.at(-1) as number;",
        replacement: "const after = (chosen.at(-1) as number) + 1;",
      },
    ],
    ...ingress,
  },
  {
    name: "cursor-key-renewed",
    why: "A cursor is still good when the endpoint has started again.",
    edits: [
      {
        file: inbox,
        text: 'if (db.get("SELECT 1 FROM setting WHERE name = ?", cursorKeySetting) !== undefined) return;',
        replacement: 'db.run("DELETE FROM setting WHERE name = ?", cursorKeySetting);',
      },
    ],
    ...ingress,
    seeds: 300,
  },
];
