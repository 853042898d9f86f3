// What stands in a page, and what keeps a page back: the evidence of every record audited by hand, and records that somebody
// changed in the file after the endpoint had stored them.
import * as Cards from "../../src/transport/Cards.ts";

import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import { hashOfText } from "@social-harness/protocol/encoding/Hash";
import type { Evidence, HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Quorum from "@social-harness/protocol/history/Quorum";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Record from "@social-harness/protocol/history/Record";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { AgentId, type RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Chains from "@social-harness/testkit/Chains";
import * as StoredChain from "@social-harness/testkit/StoredChain";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { alter } from "../store/TemporaryStore.ts";
import { chainOf, type Stored, store } from "./HistoryReader.ts";

const address = "agent:bob";
const pair = chainOf(["ann", "bob"], 60);
const five = ["ann", "bob", "cyd", "dan", "eve"];

const idBytes = (id: AgentId): Buffer => Buffer.from(AgentId.toBytes(id));

const expectEvidence = (evidence: Evidence["actionSignatures"], least: number, members: number): void => {
  expect(evidence.length).toBeGreaterThanOrEqual(least);
  expect(evidence.length).toBeLessThanOrEqual(Math.min(32, members));
  evidence.forEach(({ signerAgentId, signature }, i) => {
    const before = evidence[i - 1];
    if (before !== undefined)
      expect(Buffer.compare(idBytes(before.signerAgentId), idBytes(signerAgentId))).toBe(-1);
    expect(signature).toMatch(/^[A-Za-z0-9_-]{85}[AQgw]$/);
  });
};

/** Recomputes what every signature says, with nothing but the record and the cards of the GENESIS. */
const expectSigned = (record: HistoryRecord, cards: ReadonlyMap<AgentId, AgentCard.AgentCard>): void => {
  const subject = VerifyRecord.subjectOf(Record.recordHashOf(record.recordCore), record.recordCore);
  const check = (
    evidence: Evidence["actionSignatures"],
    vote: typeof VerifyRecord.actionVoteOf | typeof VerifyRecord.durabilityVoteOf,
  ) => {
    for (const { signerAgentId, signature } of evidence) {
      const statement = vote(subject, signerAgentId);
      const key = cards.get(signerAgentId)?.signingKey as never;
      const artifact = statement.kind.replaceAll("_", "-");
      expect(Ed25519.verifier.verify(key, artifact, statement as never, signature)).toBe(true);
    }
  };
  check(record.actionSignatures, VerifyRecord.actionVoteOf);
  check(record.durabilityVotes, VerifyRecord.durabilityVoteOf);
};

for (const [names, where] of [
  [["ann", "bob"], "agent:bob"],
  [five, `group:${five.join(",")}`],
] as const) {
  verifies(
    ["MGT-46", "MGT-111", "MGT-112"],
    `${names.length} members: the GENESIS comes first with every card, and each record's evidence can be audited`,
    async () => {
      const { read } = store(chainOf(names, 8), 8);
      const { records } = await read({ address: where });
      const [genesis, ...posts] = records;
      if (genesis === undefined || !Record.isGenesis(genesis.recordCore)) throw new Error("no GENESIS");
      const cards = genesis.recordCore.membership.members.map((encoded) => AgentCard.decode(encoded));
      expect(cards.map(({ agentName }) => agentName).toSorted()).toEqual(names.toSorted());
      expect(cards.map(({ agentId }) => agentId)).toEqual(
        cards.map(({ agentId }) => agentId).toSorted((a, b) => Buffer.compare(idBytes(a), idBytes(b))),
      );
      for (const card of cards)
        expect(AgentCard.verify(Ed25519.verifier, Chains.registry.publicKey, card)).toBe(true);
      const byId = new Map(cards.map((card) => [card.agentId, card]));
      const quorum = Quorum.quorumOf(names.length);
      for (const [height, record] of records.entries()) {
        expect(record.recordHash).toBe(Record.recordHashOf(record.recordCore));
        expectEvidence(record.actionSignatures, height === 0 ? names.length : quorum, names.length);
        expectEvidence(record.durabilityVotes, quorum, names.length);
        const { authorAgentId } = record.recordCore.action;
        expect(record.actionSignatures.map(({ signerAgentId }) => signerAgentId)).toContain(authorAgentId);
        expect(record.routerAnchor.kind).toBe("genesis_anchor");
        expect(Reanchor.hashOf(record.routerAnchor)).toBe(record.recordCore.anchorHash);
        expect(record.durabilityAnchor).toBeNull();
        expectSigned(record, byId);
      }
      for (const { recordCore } of posts) {
        expect(recordCore).not.toHaveProperty("membership");
        expect(recordCore.action.postIntent.membershipHash).toBe(genesis.recordCore.action.membershipHash);
      }
    },
  );
}

/** Rewrites the evidence of one record, its digest with it, so that only verification can tell. */
const forge = (stored: Stored, height: number, change: (evidence: Evidence) => object): void =>
  alter(stored.path, (sqlite) => {
    const row = sqlite.prepare("SELECT evidence FROM record WHERE height = ?").get(height);
    const text = JSON.stringify(change(JSON.parse(row?.["evidence"] as string) as Evidence));
    sqlite
      .prepare("UPDATE record SET evidence = ?, evidence_digest = ? WHERE height = ?")
      .run(text, Base64Url.encode(hashOfText("evidence", text)), height);
  });

verifies(
  ["MGT-49", "MGT-111"],
  "evidence that is unsorted, repeated, short, foreign, too long or without its author keeps the page back",
  async () => {
    const stranger = Chains.actor("mallory").card.agentId;
    const lists = ["actionSignatures", "durabilityVotes"] as const;
    const damages: ReadonlyArray<(list: Evidence["actionSignatures"]) => ReadonlyArray<unknown>> = [
      (list) => list.toReversed(),
      (list) => [list[0], list[0], ...list.slice(1)],
      (list) => list.map((one, i) => (i === 0 ? list[1] : one)),
      () => [],
      (list) => list.slice(0, 1),
      (list) => list.map((one, i) => (i === 0 ? { ...one, signerAgentId: stranger } : one)),
      (list) => list.map((one, i) => ({ ...one, signature: list[(i + 1) % list.length]?.signature })),
      (list) => Array.from({ length: 33 }, () => list[0]),
    ];
    const chain = chainOf(five, 4);
    for (const list of lists) {
      for (const damage of damages) {
        const stored = store(chain, 4);
        forge(stored, 2, (evidence) => ({ ...evidence, [list]: damage(evidence[list]) }));
        expect(await stored.reason({ address: `group:${five.join(",")}` })).toBe("persistence-failed");
      }
    }
    const stored = store(chain, 4);
    const author = chain.records[2]?.recordCore.action.authorAgentId;
    forge(stored, 2, (evidence) => ({
      ...evidence,
      actionSignatures: evidence.actionSignatures.filter(({ signerAgentId }) => signerAgentId !== author),
    }));
    expect(await stored.reason({ address: `group:${five.join(",")}` })).toBe("persistence-failed");
  },
);

verifies(
  ["MGT-111", "MGT-121"],
  "evidence of exactly a quorum is enough, and no part of the record's hash",
  async () => {
    const chain = chainOf(five, 4);
    const stored = store(chain, 4);
    const author = chain.records[2]?.recordCore.action.authorAgentId;
    const quorum = Quorum.quorumOf(five.length);
    forge(stored, 2, (evidence) => {
      const dropped = evidence.actionSignatures.find(({ signerAgentId }) => signerAgentId !== author);
      const kept = evidence.actionSignatures.filter((one) => one !== dropped);
      expect(kept).toHaveLength(quorum);
      return {
        ...evidence,
        actionSignatures: kept,
        durabilityVotes: evidence.durabilityVotes.slice(0, quorum),
      };
    });
    const { records } = await stored.read({ address: `group:${five.join(",")}` });
    expect(records.map(({ recordHash }) => recordHash)).toEqual(
      chain.records.map(({ recordHash }) => recordHash),
    );
    expect(records[2]?.actionSignatures).toHaveLength(quorum);
    expect(chain.records[2]?.actionSignatures).toHaveLength(five.length);
  },
);

/** The same value with one byte of it changed, still of its column's type. */
const changed = (value: unknown): string | number => {
  if (typeof value === "number") return value + 1_000;
  const bytes = Buffer.from(String(value));
  const middle = bytes.byteLength >> 1;
  bytes[middle] = (bytes[middle] as number) ^ 1;
  return bytes.toString("latin1");
};

const columns = [
  "sequence",
  "conversation_id",
  "height",
  "record_hash",
  "author_agent_id",
  "post_id",
  "core",
  "evidence",
  "evidence_digest",
] as const;

verifies(
  ["MGT-49", "MGT-113"],
  "a changed byte in any column of any record of a page keeps that page back, and no other",
  async () => {
    for (const column of columns) {
      for (const height of [0, 49, 55]) {
        const stored = store(pair, 60);
        alter(stored.path, (sqlite) => {
          const row = sqlite.prepare(`SELECT "${column}" AS value FROM record WHERE height = ?`).get(height);
          sqlite
            .prepare(`UPDATE record SET "${column}" = ? WHERE height = ?`)
            .run(changed(row?.["value"]), height);
        });
        const hashOf = (at: number) => pair.records[at]?.recordHash as RecordHash;
        const holds = [
          [0, await stored.reason({ address })],
          // Where the hash that a read begins after is the changed one, there is no such record.
          [51, await stored.reason({ address, afterRecordHash: hashOf(50) })],
          [57, await stored.reason({ address, afterRecordHash: hashOf(56) })],
        ] as const;
        for (const [from, reason] of holds) {
          const through = Math.min(from + 49, 59);
          // The record below a page is where the page must begin: it is read as well.
          const isTouched = height >= from - 1 && height <= through;
          const expected = isTouched ? ["persistence-failed", "history-gap"] : [null];
          expect([column, height, from, expected.includes(reason as never)], String(reason)).toEqual([
            column,
            height,
            from,
            true,
          ]);
          if (height >= from && isTouched) expect(reason).toBe("persistence-failed");
        }
      }
    }
  },
);

verifies(["MGT-49", "MGT-113"], "what is damaged between two pages keeps the second one back", async () => {
  const stored = store(pair, 60);
  const { continuation } = await stored.read({ address });
  alter(stored.path, (sqlite) => {
    const row = sqlite.prepare("SELECT evidence FROM record WHERE height = 55").get();
    sqlite.prepare("UPDATE record SET evidence = ? WHERE height = 55").run(changed(row?.["evidence"]));
  });
  expect(await stored.reason({ continuation: continuation as string })).toBe("persistence-failed");
});

verifies(
  "MGT-113",
  "records whose conversation is no longer under its address are damage, no gap",
  async () => {
    const stored = store(pair, 3);
    for (const card of pair.members.cards) Cards.keep(stored.db, card);
    alter(stored.path, (sqlite) => sqlite.prepare("UPDATE conversation SET address = 'agent:zed'").run());
    expect(await stored.reason({ address })).toBe("persistence-failed");
  },
);

verifies(
  "MGT-113",
  "a record whose anchor is no longer kept is not shown, and others still are",
  async () => {
    const stored = store(pair, 60);
    const other = chainOf(["ann", "cyd"], 3);

    StoredChain.begin(stored.db, other).append(3);
    alter(stored.path, (sqlite) =>
      sqlite.prepare("DELETE FROM anchor WHERE conversation_id = ?").run(pair.members.conversationId),
    );
    expect(await stored.reason({ address })).toBe("persistence-failed");
    expect((await stored.read({ address: "agent:cyd" })).records).toHaveLength(3);
  },
);

verifies(
  "MGT-113",
  "records of one conversation that were committed out of order are not shown",
  async () => {
    const stored = store(pair, 60);
    alter(stored.path, (sqlite) => {
      const swap = sqlite.prepare("UPDATE record SET sequence = ? WHERE sequence = ?");
      for (const [to, from] of [
        [1_000, 10],
        [10, 11],
        [11, 1_000],
      ] as const)
        swap.run(to, from);
    });
    expect(await stored.reason({ address })).toBe("persistence-failed");
    expect(
      (await stored.read({ address, afterRecordHash: pair.records[30]?.recordHash as RecordHash })).records,
    ).toHaveLength(29);
  },
);
