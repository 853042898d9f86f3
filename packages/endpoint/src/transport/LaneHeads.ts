// The Router's word about order, kept and compared: each lane's signed heads, whether they continue one another, and
// whether other members were shown the same. Implements HIS-51.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import {
  Ed25519Signature,
  Opaque32,
  RouterInstanceId,
  type SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Verifier } from "@social-harness/protocol/identity/Signing";
import * as Lane from "@social-harness/router/wire/Lane";
import * as Schema from "effect/Schema";
import type { Database } from "../store/Database.ts";

/** The last head of a conversation's lane, as members show it to each other inside envelopes. */
export const Seen = Schema.Struct({
  routerInstanceId: RouterInstanceId.schema,
  lane: Opaque32.schema,
  sequence: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  laneHead: Opaque32.schema,
  signature: Ed25519Signature.schema,
});
export type Seen = typeof Seen.Type;

/** Heads kept per lane at least: far more than members lag behind one another while they talk. */
const headsKept = 128;
/** Older ones go this many at a time: their page is another one than the newest's, and each costs a commit a write. */
const headsDropped = 32;

const rowToSeen = (row: Record<string, unknown>): Seen => ({
  routerInstanceId: row["router_instance_id"] as RouterInstanceId,
  lane: row["lane"] as Opaque32,
  sequence: Number(row["sequence"]),
  laneHead: row["lane_head"] as Opaque32,
  signature: row["signature"] as Ed25519Signature,
});

export const last = (db: Database, lane: Opaque32): Seen | null => {
  const row = db.get(
    "SELECT * FROM lane_head WHERE lane = CAST(? AS TEXT) ORDER BY sequence DESC LIMIT 1",
    lane,
  );
  return row === undefined ? null : rowToSeen(row);
};

const at = (db: Database, lane: Opaque32, sequence: number): Seen | null => {
  const row = db.get("SELECT * FROM lane_head WHERE lane = ? AND sequence = ?", lane, sequence);
  return row === undefined ? null : rowToSeen(row);
};

/**
 * What a delivered head is to the heads before it. `next`: continues the lane. `after-gap`: signed, but the step to it was
 * never seen. `repeated`: seen before, equal. `contradicts`: the Router took back or forked what it signed.
 */
export type Continuity = "next" | "after-gap" | "repeated" | "contradicts";

/** Two heads that one Router instance signed for one place. The first proof of a place is enough. */
const keepProof = (db: Database, own: Seen, other: Seen): void => {
  db.run(
    "INSERT OR IGNORE INTO equivocation (lane, sequence, router_instance_id, proof) VALUES (?, ?, ?, ?)",
    own.lane,
    own.sequence,
    own.routerInstanceId,
    CanonicalJson.encode([own, other]),
  );
};

/** Whether a head at or below the last one says what was said before; where it does not, the two are kept as a proof. */
export const repeats = (db: Database, head: Seen): boolean => {
  const known = at(db, head.lane, head.sequence);
  if (known === null || known.laneHead === head.laneHead) return true;
  keepProof(db, known, head);
  return false;
};

/** Compares a delivered head, whose signature the client verified, with what is known, and keeps it unless it is old. */
export const take = (db: Database, head: Seen, envelopeDigest: Opaque32): Continuity => {
  const { lane, sequence } = head;
  const previous = last(db, lane);
  const lastSequence = previous?.sequence ?? 0;
  if (sequence <= lastSequence) return repeats(db, head) ? "repeated" : "contradicts";
  const next = sequence === lastSequence + 1;
  if (next) {
    const step = { lane, previous: previous?.laneHead ?? null, sequence, envelopeDigest };
    if (Lane.laneHeadOf(step) !== head.laneHead) return "contradicts";
  }
  db.run(
    "INSERT INTO lane_head (lane, sequence, router_instance_id, lane_head, signature) VALUES (?, ?, ?, ?, ?)",
    lane,
    sequence,
    head.routerInstanceId,
    head.laneHead,
    head.signature,
  );
  if (sequence % headsDropped === 0) {
    db.run("DELETE FROM lane_head WHERE lane = ? AND sequence <= ?", lane, sequence - headsKept);
  }
  return next ? "next" : "after-gap";
};

/**
 * Compares what a member saw with what this endpoint saw. Two heads that one Router instance signed for one place are a
 * proof; it is kept, and true is returned.
 */
export const compare = (db: Database, verifier: Verifier, routerKey: SigningKey, seen: Seen): boolean => {
  const own = at(db, seen.lane, seen.sequence);
  if (own === null || own.laneHead === seen.laneHead || own.routerInstanceId !== seen.routerInstanceId)
    return false;
  if (!Lane.verify(verifier, routerKey, seen, seen.signature)) return false;
  keepProof(db, own, seen);
  return true;
};
