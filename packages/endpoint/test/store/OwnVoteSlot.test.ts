// The last line of defence against a conflicting vote: what the store itself refuses, whatever the fold asks of it.

import { expect } from "vitest";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import * as Chains from "@social-harness/testkit/Chains";
import { verifies } from "@social-harness/testkit/Verifies";
import * as ConversationRows from "../../src/conversations/ConversationRows.ts";
import { temporaryStore } from "./TemporaryStore.ts";

interface Slot {
  readonly kind?: "action" | "durability" | "carry";
  readonly height?: number;
  readonly round?: number;
  readonly inProposal?: boolean;
}

/** A store of ann with two conversations, and a hand that writes votes into it. */
const bench = () => {
  const db = temporaryStore();
  const ids = ["bob", "cyd"].map((peer) => {
    const { actors, members } = Chains.chain(["ann", peer], []);
    return ConversationRows.create(db, members, actors[0]?.card.agentId as AgentId).members.conversationId;
  });
  return {
    db,
    vote: (
      recordHash: string,
      { kind = "action", height = 3, round = 0, inProposal = false }: Slot = {},
      of = 0,
    ) =>
      db.run(
        `INSERT INTO own_vote (conversation_id, kind, height, round, record_hash, anchor_hash, in_proposal, signature)
         VALUES (?, ?, ?, ?, ?, 'anc', ?, 'signature')`,
        ids[of] as string,
        kind,
        height,
        round,
        recordHash,
        inProposal ? 1 : 0,
      ),
    setVoid: (recordHash: string, isVoid: 0 | 1) =>
      db.run("UPDATE own_vote SET void = ? WHERE record_hash = ? AND kind = 'action'", isVoid, recordHash),
    count: () => db.get("SELECT count(*) AS n FROM own_vote")?.["n"],
  };
};

verifies(
  ["HIS-23", "HIS-83"],
  "a second vote of one kind in a slot is refused, and the first one stays",
  () => {
    const { vote, count } = bench();
    for (const kind of ["action", "durability", "carry"] as const) {
      vote("first", { kind });
      expect(() => vote("second", { kind })).toThrow("UNIQUE constraint failed");
      expect(() => vote("first", { kind })).toThrow("UNIQUE constraint failed");
    }
    expect(count()).toBe(3);
    // Another height, another round and another conversation are other slots.
    vote("second", { height: 4 });
    vote("second", { round: 1 });
    vote("second", {}, 1);
    expect(count()).toBe(6);
  },
);

verifies("HIS-23", "the votes inside own proposals stand beside the lock vote, one a record", () => {
  const { vote, count } = bench();
  vote("lock");
  vote("own", { inProposal: true });
  vote("own again", { inProposal: true });
  expect(() => vote("own", { inProposal: true })).toThrow("UNIQUE constraint failed");
  expect(count()).toBe(3);
});

verifies(
  ["HIS-23", "HIS-157"],
  "a vote that was voided frees its slot for one more, and is never counted again beside it",
  () => {
    const { vote, setVoid, count } = bench();
    vote("first");
    expect(() => vote("second")).toThrow("UNIQUE constraint failed");
    setVoid("first", 1);
    vote("second");
    expect(() => vote("third")).toThrow("UNIQUE constraint failed");
    expect(() => setVoid("first", 0)).toThrow("UNIQUE constraint failed");
    setVoid("second", 1);
    vote("third");
    expect(() => vote("fourth")).toThrow("UNIQUE constraint failed");
    expect(count()).toBe(3);
  },
);
