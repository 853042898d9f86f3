// The schema of the endpoint's store, one step a version, applied in order. Version 1 is what was released first; a step
// that was released is never edited, and a later version is a further step behind it. Schema.ts applies them.
// Payload bytes (cores, evidence, items, envelopes) are stored once, in canonical form, and read back as they are.
// A commit writes one page for every table and index that it touches: an index is here only where a query or a law needs it.

const initial = `
CREATE TABLE setting (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;

-- The registration of this endpoint: ids are written before the Registry is asked, the card when it answered.
CREATE TABLE registration (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  operation_id TEXT NOT NULL,
  principal_id TEXT NOT NULL,
  agent_name TEXT NOT NULL,
  agent_card TEXT
) STRICT;

-- Cards that verified under the pinned Registry key, each with its digest. Immutable.
CREATE TABLE card (
  agent_id TEXT PRIMARY KEY,
  agent_name TEXT NOT NULL UNIQUE,
  card TEXT NOT NULL,
  card_digest TEXT NOT NULL
) STRICT;

CREATE TABLE conversation (
  conversation_id TEXT PRIMARY KEY,
  address TEXT NOT NULL UNIQUE,
  lane TEXT NOT NULL UNIQUE,
  membership TEXT NOT NULL,
  -- The agent whose word made this row: this one, or the sender of a GENESIS.
  opened_by TEXT NOT NULL,
  head_height INTEGER,
  head_record_hash TEXT,
  -- The fold's small durable state, and a SHA-256 over it and all the other columns.
  state TEXT NOT NULL,
  state_digest BLOB NOT NULL,
  -- 1 while there is open work that must be taken up again at start-up.
  active INTEGER NOT NULL
) STRICT;

-- Conversations that may have signed more than this store knows and have not been told so: none of them signs before.
CREATE TABLE untold (
  conversation_id TEXT PRIMARY KEY REFERENCES conversation
) STRICT, WITHOUT ROWID;

-- Counts what an agent has opened here without a certificate: looked at for every opening that anybody sends.
CREATE INDEX conversation_uncertified ON conversation (opened_by) WHERE head_height IS NULL;

-- Certified records, in the order of their commits here. Never changed, never deleted.
CREATE TABLE record (
  sequence INTEGER PRIMARY KEY,
  conversation_id TEXT NOT NULL REFERENCES conversation,
  height INTEGER NOT NULL,
  record_hash TEXT NOT NULL UNIQUE,
  author_agent_id TEXT NOT NULL,
  post_id TEXT NOT NULL,
  core TEXT NOT NULL,
  evidence TEXT NOT NULL,
  evidence_digest TEXT NOT NULL,
  UNIQUE (conversation_id, height),
  UNIQUE (conversation_id, author_agent_id, post_id)
) STRICT;

-- Cores of proposals whose height is not certified yet.
CREATE TABLE candidate (
  conversation_id TEXT NOT NULL REFERENCES conversation,
  record_hash TEXT NOT NULL,
  height INTEGER NOT NULL,
  core TEXT NOT NULL,
  PRIMARY KEY (conversation_id, record_hash)
) STRICT;

-- Anchors that were accepted here, whole, each with a SHA-256 over its row: evidence and catch-up name them for ever. Never
-- deleted. With the term of the Router in which it was accepted: an accepted anchor of an earlier term than now is cause
-- for a round.
CREATE TABLE anchor (
  conversation_id TEXT NOT NULL REFERENCES conversation,
  anchor_hash TEXT NOT NULL,
  anchor TEXT NOT NULL,
  digest BLOB NOT NULL,
  term INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, anchor_hash)
) STRICT, WITHOUT ROWID;

-- Every vote that this endpoint ever signed. The index is the last line of defence against a conflicting one: a slot has
-- one vote of a kind, and only the votes inside own proposals of a two-member conversation stand beside it, one a record.
CREATE TABLE own_vote (
  conversation_id TEXT NOT NULL REFERENCES conversation,
  kind TEXT NOT NULL CHECK (kind IN ('action', 'durability', 'carry')),
  height INTEGER NOT NULL,
  round INTEGER NOT NULL,
  record_hash TEXT NOT NULL,
  anchor_hash TEXT NOT NULL,
  in_proposal INTEGER NOT NULL,
  -- 1 once refusals proved that the record can never be certified: the vote counts for nothing, and its slot is free.
  void INTEGER NOT NULL DEFAULT 0,
  signature TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX own_vote_slot
  ON own_vote (conversation_id, height, round, kind, CASE in_proposal WHEN 0 THEN '' ELSE record_hash END)
  WHERE void = 0;

-- Posts of this agent, each with its hash, from the moment a call persisted them. Never deleted.
CREATE TABLE intent (
  sequence INTEGER PRIMARY KEY,
  conversation_id TEXT NOT NULL REFERENCES conversation,
  post_id TEXT NOT NULL UNIQUE,
  operation_id TEXT NOT NULL,
  intent TEXT NOT NULL,
  intent_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  outcome TEXT,
  -- The member whose refusal ended it.
  refused_by TEXT
) STRICT;
CREATE INDEX intent_open ON intent (conversation_id, sequence) WHERE outcome IS NULL;

CREATE TABLE idempotency (
  idempotency_key TEXT PRIMARY KEY,
  input_digest BLOB NOT NULL,
  post_id TEXT NOT NULL REFERENCES intent (post_id)
) STRICT;

-- Finished envelopes waiting to be accepted by the Router, in the order they must go: the first ever has sequence 1.
CREATE TABLE outbox (
  sequence INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL,
  envelope TEXT NOT NULL
) STRICT;

-- The last signed heads of each lane, the newest last; the older ones to compare with what members saw.
CREATE TABLE lane_head (
  lane TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  router_instance_id TEXT NOT NULL,
  lane_head TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (lane, sequence)
) STRICT, WITHOUT ROWID;

-- Logs of the Router that ended for this endpoint, by their terms, with what it remembered of them: another instance took
-- their place, or they were rolled back. The current one is in the settings.
CREATE TABLE router_term (
  term INTEGER PRIMARY KEY,
  router_instance_id TEXT NOT NULL,
  ending TEXT NOT NULL CHECK (ending IN ('another-instance', 'rolled-back')),
  ended_at INTEGER NOT NULL,
  cursor INTEGER NOT NULL,
  -- Where a rolled-back log ended when that was noticed.
  tail INTEGER,
  offered_sends INTEGER NOT NULL
) STRICT;

-- The signed lane heads of those terms: whoever signs another head for the same place of the same instance has equivocated.
CREATE TABLE former_lane_head (
  lane TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  term INTEGER NOT NULL REFERENCES router_term,
  lane_head TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (lane, sequence, term)
) STRICT, WITHOUT ROWID;

-- Two signed heads of one instance for one place: the first proof of each.
CREATE TABLE equivocation (
  lane TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  router_instance_id TEXT NOT NULL,
  proof TEXT NOT NULL,
  PRIMARY KEY (router_instance_id, lane, sequence)
) STRICT;

-- Envelopes whose sender's card could not be looked up when they came.
CREATE TABLE held_envelope (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  sender_agent_id TEXT NOT NULL,
  lane TEXT NOT NULL,
  lane_sequence INTEGER NOT NULL,
  envelope TEXT NOT NULL
) STRICT;
CREATE INDEX held_envelope_sender ON held_envelope (sender_agent_id, sequence);

-- Certified remote posts that have not been classified yet; written in the transaction of their record, which is there once.
CREATE TABLE pending (
  sequence INTEGER PRIMARY KEY,
  conversation_id TEXT NOT NULL REFERENCES conversation,
  record_hash TEXT NOT NULL REFERENCES record (record_hash)
) STRICT;

-- Items and, once acknowledged, their tombstones. Token and payload are bound for the life of the store.
CREATE TABLE inbox (
  sequence INTEGER PRIMARY KEY,
  delivery_token TEXT NOT NULL UNIQUE,
  item TEXT NOT NULL,
  item_bytes INTEGER NOT NULL,
  guidance TEXT,
  -- 1 for an item that the owner released from a hold, after its turn.
  released INTEGER NOT NULL DEFAULT 0,
  conversation_id TEXT,
  record_hash TEXT UNIQUE,
  -- Of a post that asks for an answer: what a process must remember to take one.
  request_id TEXT CHECK (request_id IS NULL OR record_hash IS NOT NULL),
  admitted_at INTEGER NOT NULL,
  acknowledged_at INTEGER
) STRICT;
-- Covers paging and counting, the always-null column included: without it every entry would cost a look at its row.
CREATE INDEX inbox_unread ON inbox (sequence, item_bytes, acknowledged_at) WHERE acknowledged_at IS NULL;
-- What recovery looks at. Other items have no entry here and cost it nothing.
CREATE INDEX inbox_request ON inbox (sequence) WHERE request_id IS NOT NULL AND acknowledged_at IS NULL;

-- Webhooks. The one registration: who is called, under which secret, and how that stands. Its words are LifeCycle.ts's.
CREATE TABLE webhook_registration (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  subscription_id TEXT NOT NULL,
  url TEXT NOT NULL,
  secret TEXT NOT NULL,
  lease_ends_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'retrying', 'suspended', 'rejected', 'expired')),
  due_at INTEGER NOT NULL,
  failed_attempts INTEGER NOT NULL,
  failed_since INTEGER,
  failed_last_at INTEGER,
  last_error TEXT,
  -- The HTTP status of that error; null when nothing was answered.
  last_status INTEGER,
  last_delivery_at INTEGER
) STRICT;

-- The one delivery that is due: written before its first attempt, and every attempt sends these bytes.
CREATE TABLE webhook_occurrence (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  delivery_token TEXT NOT NULL REFERENCES inbox (delivery_token),
  body BLOB NOT NULL
) STRICT;

-- The last attempts, for the owner: no URL, no secret, nothing that either side said.
CREATE TABLE webhook_attempt (
  sequence INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  category TEXT NOT NULL,
  status INTEGER,
  -- Null for a challenge.
  event_id TEXT,
  duration_ms INTEGER NOT NULL
) STRICT;

-- The firewall. Classified items that are not judged yet, in the order of their classification; without a record, what this
-- endpoint tells its own host, which waits for its turn alone. No reader of the inbox looks here.
CREATE TABLE firewall_queue (
  sequence INTEGER PRIMARY KEY,
  conversation_id TEXT NOT NULL REFERENCES conversation,
  record_hash TEXT UNIQUE REFERENCES record (record_hash),
  request_id TEXT,
  item TEXT NOT NULL,
  queued_at INTEGER NOT NULL
) STRICT;
-- Finds the next item of a conversation, and the conversations that have one.
CREATE INDEX firewall_queue_turn ON firewall_queue (conversation_id, sequence);

-- What was held, and what its owner did about it. Kept for the life of the store.
CREATE TABLE firewall_hold (
  sequence INTEGER PRIMARY KEY,
  hold_id TEXT NOT NULL UNIQUE,
  conversation_id TEXT NOT NULL REFERENCES conversation,
  record_hash TEXT NOT NULL UNIQUE REFERENCES record (record_hash),
  request_id TEXT,
  item TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('rule', 'checker', 'check-failed', 'rules-unreadable')),
  rule INTEGER,
  explanation TEXT,
  queued_at INTEGER NOT NULL,
  held_at INTEGER NOT NULL,
  ending TEXT CHECK (ending IN ('discarded', 'released')),
  ended_at INTEGER
) STRICT;
CREATE INDEX firewall_hold_open ON firewall_hold (sequence) WHERE ending IS NULL;
`;

export interface Migration {
  readonly sql: string;
  /** Of all tables and indexes as they are after it (`Schema.fingerprintOf`): what a store of this version must have. */
  readonly fingerprint: string;
}

export const migrations: ReadonlyArray<Migration> = [
  { sql: initial, fingerprint: "6tu-WI8kz1kUd3K-NoFvn6gDrGtSa6rc-6IrxozTNZ8" },
];
