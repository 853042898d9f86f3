// The statements over the Router's tables, and the rows they speak of. Each runs inside whatever transaction is open;
// none begins or ends one, and none decides anything about envelopes.

import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { AgentId, MessageId, Opaque32 } from "@social-harness/protocol/identity/Identifier";

export interface AgentRow {
  readonly agent: number;
  readonly agentId: AgentId;
  readonly acceptedSends: number;
  readonly tailCursor: number;
  readonly acknowledgedCursor: number;
  readonly waitingBytes: number;
}

type Row = Record<string, SQLOutputValue>;

const agentRowOf = (agentId: AgentId, row: Row): AgentRow => ({
  agent: row["agent"] as number,
  agentId,
  acceptedSends: row["accepted_sends"] as number,
  tailCursor: row["tail_cursor"] as number,
  acknowledgedCursor: row["acknowledged_cursor"] as number,
  waitingBytes: row["waiting_bytes"] as number,
});

export const makeStatements = (database: DatabaseSync) => {
  const agentById = database.prepare("SELECT * FROM router_agent WHERE agent_id = ?");
  const createAgent = database.prepare("INSERT INTO router_agent (agent_id) VALUES (?) RETURNING *");
  const advanceTail = database.prepare(
    "UPDATE router_agent SET tail_cursor = ?, waiting_bytes = waiting_bytes + ? WHERE agent = ?",
  );
  const countSend = database.prepare(
    "UPDATE router_agent SET accepted_sends = accepted_sends + 1 WHERE agent = ?",
  );
  const laneByHash = database.prepare("SELECT sequence, lane_head FROM router_lane WHERE lane_hash = ?");
  const putLane = database.prepare(
    `INSERT INTO router_lane (lane_hash, sequence, lane_head) VALUES (?, ?, ?)
     ON CONFLICT (lane_hash) DO UPDATE SET sequence = excluded.sequence, lane_head = excluded.lane_head RETURNING lane`,
  );
  const sendById = database.prepare(
    "SELECT envelope_digest, lane, sequence FROM router_send WHERE sender = ? AND message_id = ?",
  );
  const laneHash = database.prepare("SELECT lane_hash FROM router_lane WHERE lane = ?");
  const putSend = database.prepare(
    `INSERT INTO router_send (sender, message_id, envelope_digest, lane, sequence, accepted_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const putBody = database.prepare(
    "INSERT INTO router_body (position, accepted_at, copies) VALUES (?, ?, ?)",
  );
  const putCopy = database.prepare(
    "INSERT INTO router_copy (agent, cursor, position, bytes) VALUES (?, ?, ?, ?)",
  );
  // A bare parameter behind LIMIT would have SQLite prepare the statement anew in every run.
  const copiesFrom = database.prepare(
    `SELECT cursor, position, bytes FROM router_copy
     WHERE agent = (SELECT agent FROM router_agent WHERE agent_id = ?) AND cursor >= ?
     ORDER BY cursor LIMIT ? + 0`,
  );
  const releaseThrough = database.prepare(
    `UPDATE router_body SET copies = copies - 1
     WHERE position IN (SELECT position FROM router_copy WHERE agent = ? AND cursor <= ?)`,
  );
  const bytesThrough = database.prepare(
    "SELECT coalesce(sum(bytes), 0) AS bytes FROM router_copy WHERE agent = ? AND cursor <= ?",
  );
  const removeThrough = database.prepare("DELETE FROM router_copy WHERE agent = ? AND cursor <= ?");
  const moveAcknowledged = database.prepare(
    `UPDATE router_agent SET acknowledged_cursor = ?, waiting_bytes = waiting_bytes - ?
     WHERE agent = ?`,
  );
  const takeDone = database.prepare("DELETE FROM router_body WHERE copies = 0 RETURNING position");
  const oldestBodies = database.prepare(
    "SELECT position, accepted_at FROM router_body ORDER BY position LIMIT ?",
  );
  const copiesAt = database.prepare("SELECT agent, bytes FROM router_copy WHERE position = ?");
  const loseBytes = database.prepare(
    "UPDATE router_agent SET waiting_bytes = waiting_bytes - ? WHERE agent = ?",
  );
  const loseCopies = database.prepare("DELETE FROM router_copy WHERE position = ?");
  const dropBody = database.prepare("UPDATE router_body SET copies = 0 WHERE position = ?");
  const oldestSends = database.prepare("SELECT send, accepted_at FROM router_send ORDER BY send LIMIT ?");
  const dropSend = database.prepare("DELETE FROM router_send WHERE send = ?");

  const agentIfKnown = (agentId: AgentId): AgentRow | undefined => {
    const row = agentById.get(agentId);
    return row === undefined ? undefined : agentRowOf(agentId, row);
  };

  return {
    agentIfKnown,
    /** The agent's row, made when it is new. */
    agent: (agentId: AgentId): AgentRow =>
      agentIfKnown(agentId) ?? agentRowOf(agentId, createAgent.get(agentId) as Row),

    lane: (lane: Opaque32): { readonly sequence: number; readonly laneHead: Opaque32 } | undefined => {
      const row = laneByHash.get(lane);
      return row && { sequence: row["sequence"] as number, laneHead: row["lane_head"] as Opaque32 };
    },
    /** Moves the lane's head, and gives the lane's key. */
    putLane: (lane: Opaque32, sequence: number, laneHead: Opaque32): number =>
      putLane.get(lane, sequence, laneHead)?.["lane"] as number,

    send: (sender: number, messageId: MessageId) => {
      const row = sendById.get(sender, messageId);
      return (
        row && {
          envelopeDigest: row["envelope_digest"] as Opaque32,
          lane: laneHash.get(row["lane"] as number)?.["lane_hash"] as Opaque32,
          sequence: row["sequence"] as number,
        }
      );
    },
    putSend: (
      sender: number,
      messageId: MessageId,
      envelopeDigest: Opaque32,
      lane: number,
      sequence: number,
      now: number,
    ): void => {
      putSend.run(sender, messageId, envelopeDigest, lane, sequence, now);
      countSend.run(sender);
    },

    putBody: (position: number, now: number, copies: number): void => {
      putBody.run(position, now, copies);
    },
    putCopy: (agent: number, cursor: number, position: number, bytes: number): void => {
      putCopy.run(agent, cursor, position, bytes);
    },
    advanceTail: (agent: number, cursor: number, bytes: number): void => {
      advanceTail.run(cursor, bytes, agent);
    },
    copies: (agentId: AgentId, from: number, limit: number) =>
      copiesFrom.all(agentId, from, limit).map((row) => ({
        cursor: row["cursor"] as number,
        position: row["position"] as number,
        bytes: row["bytes"] as number,
      })),

    /** Forgets the copies up to a cursor; never moves back, never beyond the tail. */
    acknowledge: (agentId: AgentId, cursor: number): void => {
      const row = agentIfKnown(agentId);
      if (row === undefined || cursor <= row.acknowledgedCursor || cursor > row.tailCursor) return;
      releaseThrough.run(row.agent, cursor);
      const bytes = bytesThrough.get(row.agent, cursor)?.["bytes"] as number;
      removeThrough.run(row.agent, cursor);
      moveAcknowledged.run(cursor, bytes, row.agent);
    },
    /** Positions whose bodies nobody waits for; their rows are gone afterwards. */
    takeDone: (): ReadonlyArray<number> => takeDone.all().map((row) => row["position"] as number),

    /** Takes the copies of bodies accepted before `horizon` out of every mailbox; their number. */
    expireBodies: (horizon: number, limit: number): number => {
      const expired = oldestBodies.all(limit).filter((row) => (row["accepted_at"] as number) < horizon);
      for (const { position } of expired) {
        for (const copy of copiesAt.all(position as number)) {
          loseBytes.run(copy["bytes"] as number, copy["agent"] as number);
        }
        loseCopies.run(position as number);
        dropBody.run(position as number);
      }
      return expired.length;
    },
    expireSends: (horizon: number, limit: number): number => {
      const expired = oldestSends.all(limit).filter((row) => (row["accepted_at"] as number) < horizon);
      for (const { send } of expired) dropSend.run(send as number);
      return expired.length;
    },
  };
};
