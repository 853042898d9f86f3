// Proofs that a Router signed two orders of one lane: two heads of one instance for one place. Kept for good, the first of
// each place; the first of each lane is shown to the other members, who believe the Router's two signatures and not who
// shows them.
// Implements HIS-54 and HIS-136.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { EquivocationProof } from "@social-harness/protocol/conversation/Packet";
import type { ConversationId, SigningKey } from "@social-harness/protocol/identity/Identifier";
import type { Verifier } from "@social-harness/protocol/identity/Signing";
import * as Lane from "@social-harness/router/wire/Lane";
import type { Database } from "../store/Database.ts";
import * as LaneHeads from "./LaneHeads.ts";

export type Place = Pick<LaneHeads.Seen, "routerInstanceId" | "lane" | "sequence">;

/** The two heads of one place. */
export type Proof = readonly [LaneHeads.Seen, LaneHeads.Seen];

/** Whether an instance was caught in a lane before: one proof is cause enough, and a Router that forks a lane gives many. */
export const isCaught = (db: Database, { routerInstanceId, lane }: Omit<Place, "sequence">): boolean =>
  db.get(
    "SELECT 1 FROM equivocation WHERE router_instance_id = ? AND lane = ? LIMIT 1",
    routerInstanceId,
    lane,
  ) !== undefined;

export const keep = (db: Database, own: LaneHeads.Seen, other: LaneHeads.Seen): void => {
  db.run(
    "INSERT OR IGNORE INTO equivocation (lane, sequence, router_instance_id, proof) VALUES (?, ?, ?, ?)",
    own.lane,
    own.sequence,
    own.routerInstanceId,
    CanonicalJson.encode([own, other]),
  );
};

/** Compares what a member saw with what this endpoint saw; true when that is the first proof in its lane. */
export const compare = (
  db: Database,
  verifier: Verifier,
  routerKey: SigningKey,
  seen: LaneHeads.Seen,
): boolean => {
  const known = isCaught(db, seen);
  return LaneHeads.compare(db, verifier, routerKey, seen) && !known;
};

const proofOf = (text: unknown): Proof => JSON.parse(String(text)) as Proof;

/** The kept proof of a place, as it is shown to the members of a conversation. */
export const packetOf = (db: Database, conversationId: ConversationId, place: Place): EquivocationProof => {
  const row = db.get(
    "SELECT proof FROM equivocation WHERE router_instance_id = ? AND lane = ? AND sequence = ?",
    place.routerInstanceId,
    place.lane,
    place.sequence,
  );
  if (row === undefined) throw new Error("no proof is kept of that place");
  const heads = proofOf(row["proof"]).map(({ laneHead, signature }) => ({ laneHead, signature }));
  return { kind: "equivocation_proof", conversationId, ...place, heads };
};

/** Takes a proof that a member showed: the first in its lane, one more, or none at all. */
export const take = (
  db: Database,
  verifier: Verifier,
  routerKey: SigningKey,
  { routerInstanceId, lane, sequence, heads }: EquivocationProof,
): "new" | "known" | "false" => {
  const [own, other] = heads.map((head) => ({ routerInstanceId, lane, sequence, ...head }));
  if (own === undefined || other === undefined || own.laneHead === other.laneHead) return "false";
  const isSigned = [own, other].every((seen) => Lane.verify(verifier, routerKey, seen, seen.signature));
  if (!isSigned) return "false";
  const known = isCaught(db, own);
  keep(db, own, other);
  return known ? "known" : "new";
};

/** The kept proofs, at most so many. */
export const all = (db: Database, countMax = Number.MAX_SAFE_INTEGER): ReadonlyArray<Proof> =>
  db
    .all("SELECT proof FROM equivocation ORDER BY router_instance_id, lane, sequence LIMIT ?", countMax)
    .map((row) => proofOf(row["proof"]));

export const count = (db: Database): number =>
  Number(db.get("SELECT count(*) AS n FROM equivocation")?.["n"]);
