// Conversations of real cards in a real store, and posts committed to them the way a commit does: record and pending
// row in one transaction. Evidence is left out; classification never reads it.

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { Content } from "@social-harness/protocol/history/Content";
import * as Address from "@social-harness/protocol/address/Address";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import {
  PostId,
  PrincipalId,
  type RecordHash,
  RouterInstanceId,
  SealingKey,
} from "@social-harness/protocol/identity/Identifier";
import * as Database from "../../src/store/Database.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";

/** Distinct, reproducible bytes: the same seed gives the same ids in every run. */
export const seededRandom = (seed: string): Inbox.Random => {
  let drawn = 0;
  return (byteCount) =>
    createHash("shake256", { outputLength: byteCount }).update(`${seed}/${drawn++}`).digest();
};

const registry = Ed25519.signerFromSeed(Buffer.alloc(32, 7));

export const cardOf = (name: string): AgentCard.AgentCard => {
  const signer = Ed25519.signerFromSeed(createHash("sha256").update(name).digest());
  const keys: AgentCard.AgentKeys = {
    agentName: name as AgentName,
    // `-of-2` at the end of a name: an agent of another principal than most.
    principalId: PrincipalId.fromBytes(Buffer.alloc(16, Number(/-of-(\d)$/.exec(name)?.[1] ?? 1))),
    signingKey: signer.publicKey,
    sealingKey: SealingKey.fromBytes(createHash("sha256").update(`sealing ${name}`).digest()),
    registryKey: registry.publicKey,
  };
  return AgentCard.issue(
    registry,
    keys,
    AgentCard.signKeys(signer, keys),
    "2026-11-30T12:00:00Z" as AgentCard.Timestamp,
  );
};

export interface Conversation {
  readonly members: Membership.Members;
  readonly post: (author: string, content: Content) => Record.PostIntent;
}

export interface TestStore {
  readonly path: string;
  readonly db: Database.Database;
  readonly reopen: () => Database.Database;
  readonly remove: () => void;
}

export const makeStore = (): TestStore => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-inbox-"));
  const path = join(folder, "endpoint.sqlite");
  let db = Database.open(path);
  db.transaction(() => Inbox.prepare(db, seededRandom("cursor key")));
  return {
    path,
    get db() {
      return db;
    },
    reopen: () => {
      db.close();
      db = Database.open(path);
      return db;
    },
    remove: () => {
      db.close();
      rmSync(folder, { recursive: true });
    },
  };
};

/** A conversation of the named agents as `self` stores it; `post` commits the next record of it. */
export const makeConversation = (
  store: TestStore,
  self: string,
  names: ReadonlyArray<string>,
): Conversation => {
  const members = Membership.ofCards(names.map(cardOf));
  const { conversationId, membershipHash } = members;
  const random = seededRandom(`posts of ${names.join()}`);
  store.db.run(
    `INSERT INTO conversation (conversation_id, address, lane, membership, opened_by, state, state_digest, active)
     VALUES (?, ?, ?, ?, 'agt', '{}', x'', 0)`,
    conversationId,
    Address.ofMembers(names as ReadonlyArray<AgentName>, self as AgentName),
    conversationId,
    CanonicalJson.encode(members.membership),
  );
  const anchor: Record.GenesisAnchor = {
    kind: "genesis_anchor",
    conversationId,
    membershipHash,
    round: 0,
    routerInstanceId: RouterInstanceId.fromBytes(Buffer.alloc(16, 3)),
  };
  let height = 0;
  let previousRecordHash: RecordHash | null = null;
  const post = (author: string, content: Content): Record.PostIntent => {
    const postIntent: Record.PostIntent = {
      kind: "post_intent",
      conversationId,
      membershipHash,
      authorAgentId: cardOf(author).agentId,
      postId: PostId.fromBytes(random(32)),
      content,
    };
    const core: Record.RecordCore =
      previousRecordHash === null
        ? Record.genesisCore(members.membership, postIntent, anchor)
        : Record.postCore(postIntent, {
            height,
            previousRecordHash,
            anchorHash: Record.anchorHashOf(anchor),
          });
    const recordHash = Record.recordHashOf(core);
    store.db.transaction(() => {
      store.db.run(
        `INSERT INTO record (conversation_id, height, record_hash, author_agent_id, post_id, core, evidence, evidence_digest)
         VALUES (?, ?, ?, ?, ?, ?, '{}', '')`,
        conversationId,
        height,
        recordHash,
        postIntent.authorAgentId,
        postIntent.postId,
        CanonicalJson.encode(core as CanonicalJson.Json),
      );
      store.db.run(
        "INSERT INTO pending (conversation_id, record_hash) VALUES (?, ?)",
        conversationId,
        recordHash,
      );
    });
    previousRecordHash = recordHash;
    height += 1;
    return postIntent;
  };
  return { members, post };
};
