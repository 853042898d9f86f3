// A lane: the order of one recipient set in one Router, as a hash chain whose every head the Router signs. Two signed
// heads for one (instance, lane, sequence) prove that it showed two orders. Implements RTR-06 to RTR-09.

import type * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { hash } from "@social-harness/protocol/encoding/Hash";
import {
  Opaque32,
  RouterInstanceId,
  type AgentId,
  type Ed25519Signature,
  type SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer, Verifier } from "@social-harness/protocol/identity/Signing";

const opaque = (artifact: string, value: CanonicalJson.Json): Opaque32 =>
  Opaque32.fromBytes(hash(artifact, value));

/** Lanes that were asked for before, the oldest dropped first: every envelope asks for its own, and most are of a few sets. */
const lanes = new Map<string, Opaque32>();
const lanesMax = 1_024;

/** The lane of a recipient set; `recipientAgentIds` stand in increasing order of their decoded bytes. */
export const laneOf = (recipientAgentIds: ReadonlyArray<AgentId>): Opaque32 => {
  const set = recipientAgentIds.join();
  const known = lanes.get(set);
  if (known !== undefined) return known;
  const lane = opaque("lane", { recipientAgentIds });
  if (lanes.size >= lanesMax) lanes.delete(lanes.keys().next().value as string);
  lanes.set(set, lane);
  return lane;
};

/** One step of a lane's chain: what stands at `sequence` (from 1), after `previous` (null before the first). */
export interface LaneStep {
  readonly lane: Opaque32;
  readonly previous: Opaque32 | null;
  readonly sequence: number;
  readonly envelopeDigest: Opaque32;
}

export const laneHeadOf = ({ lane, previous, sequence, envelopeDigest }: LaneStep): Opaque32 =>
  opaque("lane-head", { lane, previous, sequence, envelopeDigest });

/** What the Router signs about each envelope that it orders. */
export interface LaneHead {
  readonly routerInstanceId: RouterInstanceId;
  readonly lane: Opaque32;
  readonly sequence: number;
  readonly laneHead: Opaque32;
}

const statementOf = ({ routerInstanceId, lane, sequence, laneHead }: LaneHead) => ({
  kind: "lane_head_statement",
  routerInstanceId,
  lane,
  sequence,
  laneHead,
});

export const sign = (router: Signer, head: LaneHead): Ed25519Signature =>
  router.sign("lane-head-statement", statementOf(head));

export const verify = (
  verifier: Verifier,
  routerKey: SigningKey,
  head: LaneHead,
  signature: Ed25519Signature,
): boolean => verifier.verify(routerKey, "lane-head-statement", statementOf(head), signature);

/** The instance of one log under one Router key: survives restarts, and another log is another instance. */
export const routerInstanceIdOf = (routerKey: SigningKey, logId: Opaque32): RouterInstanceId =>
  RouterInstanceId.fromBytes(hash("router-instance", { routerKey, logId }).subarray(0, 16));
