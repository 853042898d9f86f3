// The Router's tables, beside the log's own in one file and changed in the same transactions. Bodies stand in the log
// stream; these rows say who still waits for which body, and what must outlive it. A script that
// was released is never edited; later ones stand behind it.

/** The log stream of this subsystem. Position 1 holds the log id; every further entry is one accepted envelope. */
export const stream = "router";

export const component = "router";

export const migrations: ReadonlyArray<string> = [
  `
  -- One row for each agent that has ever sent or been sent to.
  CREATE TABLE router_agent (
    agent INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL UNIQUE,
    accepted_sends INTEGER NOT NULL DEFAULT 0,
    tail_cursor INTEGER NOT NULL DEFAULT 0,
    acknowledged_cursor INTEGER NOT NULL DEFAULT 0,
    waiting_bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE TABLE router_lane (
    lane INTEGER PRIMARY KEY,
    lane_hash TEXT NOT NULL UNIQUE,
    sequence INTEGER NOT NULL,
    lane_head TEXT NOT NULL
  ) STRICT;

  -- What a repeated send is compared with. Its key grows with time, so the oldest stand first.
  CREATE TABLE router_send (
    send INTEGER PRIMARY KEY,
    sender INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    envelope_digest TEXT NOT NULL,
    lane INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL,
    UNIQUE (sender, message_id)
  ) STRICT;

  -- One row for each body in the log stream and the number of mailboxes that wait for it.
  CREATE TABLE router_body (
    position INTEGER PRIMARY KEY,
    accepted_at INTEGER NOT NULL,
    copies INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX router_body_done ON router_body (position) WHERE copies = 0;

  -- A mailbox: its cursors count without gaps, and a cursor without a row is a copy that was lost or acknowledged.
  CREATE TABLE router_copy (
    agent INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    position INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (agent, cursor)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX router_copy_position ON router_copy (position);
  `,
];

/** For whoever opens the Router's log. */
export const known: Readonly<Record<string, number>> = { [component]: migrations.length };
