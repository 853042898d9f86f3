// What one endpoint's store says, read from the file by whoever is not its daemon: of a running daemon in one snapshot, of
// a dead one from a copy, so that its next life meets the files exactly as the kill left them.

import { createHash } from "node:crypto";
import { copyFileSync, existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { State } from "@social-harness/protocol/conversation/State";
import type { Evidence, RouterAnchor } from "@social-harness/protocol/history/Evidence";
import type { Membership } from "@social-harness/protocol/history/Membership";
import { bodyOf } from "@social-harness/protocol/history/Reanchor";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";

export type VoteKind = "action" | "durability";

/** One vote, as its signer keeps it or as others were shown it. */
export interface Vote {
  readonly signer: string;
  readonly conversationId: string;
  readonly kind: VoteKind;
  readonly height: number;
  readonly round: number;
  readonly recordHash: string;
  readonly signature: string;
}

export interface StoredRecord {
  readonly height: number;
  readonly recordHash: string;
  readonly author: string;
  readonly postId: string;
}

export interface StoredConversation {
  readonly conversationId: string;
  readonly names: ReadonlyArray<string>;
  readonly headHeight: number | null;
  /** In the order of their heights. */
  readonly records: ReadonlyArray<StoredRecord>;
  /** Remote posts in the order in which they became items, and then those that wait for it. */
  readonly admitted: ReadonlyArray<string>;
  readonly pending: ReadonlyArray<string>;
  /** What its firewall keeps from the model, in the order of the verdicts, and has not judged. */
  readonly held: ReadonlyArray<string>;
  readonly queued: ReadonlyArray<string>;
}

export interface Intent {
  readonly conversationId: string;
  readonly postId: string;
  readonly outcome: string | null;
  readonly key: string | null;
}

export interface Token {
  readonly token: string;
  readonly recordHash: string | null;
  readonly isAcknowledged: boolean;
}

/** A row of the inbox with what is bound to its token. */
export interface StoredItem {
  readonly token: string;
  readonly recordHash: string | null;
  readonly digest: string;
  readonly guidance: string | null;
  readonly acknowledgedAt: number | null;
}

export interface Hold {
  readonly holdId: string;
  readonly recordHash: string;
  readonly reason: string;
  readonly explanation: string | null;
  /** What its owner has made of it. */
  readonly ending: "released" | "discarded" | null;
}

export interface Disk {
  readonly name: string;
  readonly agentId: string;
  readonly conversations: ReadonlyArray<StoredConversation>;
  /** Hashes of records whose core is here, certified or not. */
  readonly cores: ReadonlySet<string>;
  /** Who proposed a record, as far as this store remembers. */
  readonly authors: ReadonlyMap<string, string>;
  readonly ownVotes: ReadonlyArray<Vote>;
  readonly shownVotes: ReadonlyArray<Vote>;
  readonly intents: ReadonlyArray<Intent>;
  readonly tokens: ReadonlyArray<Token>;
  /** In the order of their admission. */
  readonly items: ReadonlyArray<StoredItem>;
  readonly holds: ReadonlyArray<Hold>;
  readonly outbox: number;
  /** When it took itself for an old copy of what it had; null for never. */
  readonly lostAt: string | null;
}

type Row = Readonly<Record<string, string | number | null>>;

/** Items are compared by it, in a store and at a receiver. */
export const digestOf = (content: string | Uint8Array): string =>
  createHash("sha256").update(content).digest("base64url");

const votesOf = (
  at: Pick<Vote, "conversationId" | "height" | "round" | "recordHash">,
  kind: VoteKind,
  signers: Iterable<readonly [signer: string, signature: string]>,
): ReadonlyArray<Vote> => [...signers].map(([signer, signature]) => ({ ...at, kind, signer, signature }));

/**
 * Every vote that the row of a conversation shows: those of its open records, and of one whose core is missing. They stand under
 * the record's own anchor, which is an earlier one where a round has carried it; `roundOf` knows the accepted ones.
 */
export const votesOfState = (
  conversationId: string,
  { open, behind, anchor }: Pick<State, "open" | "behind" | "anchor">,
  roundOf: (anchorHash: string) => number | undefined,
): ReadonlyArray<Vote> => {
  const voted = [...open, ...(behind === null || behind.missing === null ? [] : [behind.missing])];
  return voted.flatMap(({ height, recordHash, anchorHash, action, durability }) => {
    const round = roundOf(anchorHash) ?? anchor?.round ?? 0;
    const at = { conversationId, height, round, recordHash };
    return [
      ...votesOf(at, "action", Object.entries(action)),
      ...votesOf(at, "durability", Object.entries(durability)),
    ];
  });
};

const votesOfEvidence = (conversationId: string, row: Row): ReadonlyArray<Vote> => {
  const evidence = JSON.parse(String(row["evidence"])) as Evidence;
  const { routerAnchor, durabilityAnchor } = evidence;
  const at = { conversationId, height: Number(row["height"]), recordHash: String(row["record_hash"]) };
  const under = (anchor: RouterAnchor) => ({ ...at, round: bodyOf(anchor).round });
  const signers = (signatures: Evidence["actionSignatures"]) =>
    signatures.map(({ signerAgentId, signature }) => [signerAgentId, signature] as const);
  return [
    ...votesOf(under(routerAnchor), "action", signers(evidence.actionSignatures)),
    ...votesOf(under(durabilityAnchor ?? routerAnchor), "durability", signers(evidence.durabilityVotes)),
  ];
};

const namesOf = (membership: string): ReadonlyArray<string> => {
  const { members } = JSON.parse(membership) as Membership;
  return members.map((card) => AgentCard.decode(card).agentName);
};

const readAll = (db: DatabaseSync, name: string): Disk => {
  const all = (sql: string, ...values: ReadonlyArray<string>): ReadonlyArray<Row> =>
    db.prepare(sql).all(...values) as unknown as ReadonlyArray<Row>;
  const hashes = (sql: string, conversationId: string): ReadonlyArray<string> =>
    all(sql, conversationId).map((row) => String(row["record_hash"]));
  const [own] = all("SELECT agent_card FROM registration");
  const { agentId } = AgentCard.decode(String(own?.["agent_card"]) as AgentCard.EncodedAgentCard);
  const shownVotes: Array<Vote> = [];
  const authors = new Map<string, string>();
  const conversations = all("SELECT * FROM conversation").map((row): StoredConversation => {
    const conversationId = String(row["conversation_id"]);
    const state = JSON.parse(String(row["state"])) as State;
    for (const { recordHash, author } of state.open) authors.set(recordHash, author);
    const anchors = all("SELECT anchor_hash, anchor FROM anchor WHERE conversation_id = ?", conversationId);
    const rounds = new Map(
      anchors.map((anchor) => [
        String(anchor["anchor_hash"]),
        bodyOf(JSON.parse(String(anchor["anchor"])) as RouterAnchor).round,
      ]),
    );
    shownVotes.push(...votesOfState(conversationId, state, (anchorHash) => rounds.get(anchorHash)));
    const rows = all("SELECT * FROM record WHERE conversation_id = ? ORDER BY height", conversationId);
    for (const record of rows) {
      authors.set(String(record["record_hash"]), String(record["author_agent_id"]));
      shownVotes.push(...votesOfEvidence(conversationId, record));
    }
    return {
      conversationId,
      names: namesOf(String(row["membership"])),
      headHeight: row["head_height"] === null ? null : Number(row["head_height"]),
      records: rows.map((record) => ({
        height: Number(record["height"]),
        recordHash: String(record["record_hash"]),
        author: String(record["author_agent_id"]),
        postId: String(record["post_id"]),
      })),
      admitted: hashes(
        "SELECT record_hash FROM inbox WHERE conversation_id = ? ORDER BY sequence",
        conversationId,
      ),
      pending: hashes(
        "SELECT record_hash FROM pending WHERE conversation_id = ? ORDER BY sequence",
        conversationId,
      ),
      held: hashes(
        "SELECT record_hash FROM firewall_hold WHERE conversation_id = ? AND ending IS NOT 'released' ORDER BY sequence",
        conversationId,
      ),
      queued: hashes(
        "SELECT record_hash FROM firewall_queue WHERE conversation_id = ? AND record_hash IS NOT NULL ORDER BY sequence",
        conversationId,
      ),
    };
  });
  const ownVotes = all("SELECT * FROM own_vote").map((row): Vote => {
    const recordHash = String(row["record_hash"]);
    if (row["in_proposal"] === 1) authors.set(recordHash, agentId);
    return {
      signer: agentId,
      conversationId: String(row["conversation_id"]),
      kind: row["kind"] as VoteKind,
      height: Number(row["height"]),
      round: Number(row["round"]),
      recordHash,
      signature: String(row["signature"]),
    };
  });
  const cores = all("SELECT record_hash FROM record UNION SELECT record_hash FROM candidate");
  const intents = all(
    "SELECT intent.*, idempotency_key FROM intent LEFT JOIN idempotency USING (post_id) ORDER BY intent.sequence",
  );
  return {
    name,
    agentId,
    conversations,
    cores: new Set(cores.map((row) => String(row["record_hash"]))),
    authors,
    ownVotes,
    shownVotes,
    intents: intents.map((row) => ({
      conversationId: String(row["conversation_id"]),
      postId: String(row["post_id"]),
      outcome: row["outcome"] as string | null,
      key: row["idempotency_key"] as string | null,
    })),
    tokens: all("SELECT delivery_token, record_hash, acknowledged_at FROM inbox").map((row) => ({
      token: String(row["delivery_token"]),
      recordHash: row["record_hash"] as string | null,
      isAcknowledged: row["acknowledged_at"] !== null,
    })),
    items: all(
      "SELECT delivery_token, record_hash, item, guidance, acknowledged_at FROM inbox ORDER BY sequence",
    ).map((row) => ({
      token: String(row["delivery_token"]),
      recordHash: row["record_hash"] as string | null,
      digest: digestOf(String(row["item"])),
      guidance: row["guidance"] as string | null,
      acknowledgedAt: row["acknowledged_at"] as number | null,
    })),
    holds: all("SELECT * FROM firewall_hold ORDER BY sequence").map((row) => ({
      holdId: String(row["hold_id"]),
      recordHash: String(row["record_hash"]),
      reason: String(row["reason"]),
      explanation: row["explanation"] as string | null,
      ending: row["ending"] as Hold["ending"],
    })),
    outbox: Number(all("SELECT count(*) AS waiting FROM outbox")[0]?.["waiting"]),
    lostAt: (all("SELECT CAST(value AS TEXT) AS value FROM setting WHERE name = 'memory_lost_at'")[0]?.[
      "value"
    ] ?? null) as string | null,
  };
};

/** Reads the store of a daemon, running or not, in one snapshot. */
export const read = (name: string, path: string): Disk => {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
  try {
    db.exec("BEGIN");
    return readAll(db, name);
  } finally {
    db.close();
  }
};

/** Reads what a daemon that is dead has left, without touching it. `copy` is where its files are copied to. */
export const readDead = (name: string, path: string, copy: string): Disk => {
  for (const part of ["", "-wal"]) if (existsSync(path + part)) copyFileSync(path + part, copy + part);
  const db = new DatabaseSync(copy);
  try {
    return readAll(db, name);
  } finally {
    db.close();
  }
};
