// Deliveries as a Router would sign them, handed to an agent's link past the real one: for what only a Router that lies
// can bring about.

import { createHash } from "node:crypto";
import type { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import type { RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { Delivery } from "@social-harness/router/client/RouterClient";
import * as Envelope from "@social-harness/router/wire/Envelope";
import * as Lane from "@social-harness/router/wire/Lane";
import type { Network } from "@social-harness/testkit/network/Network";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import * as Settings from "../../src/store/Settings.ts";
import * as LaneHeads from "../../src/transport/LaneHeads.ts";

export const instanceOf = ({ db }: NetworkAgent): RouterInstanceId =>
  Settings.text(db, "router_instance_id") as RouterInstanceId;

export const cursorOf = ({ db }: NetworkAgent): number => Settings.integer(db, "router_cursor");

/** A head of a lane that the Router signs like any other, though it follows nothing. */
export const forgedHead = (
  network: Network,
  agent: NetworkAgent,
  lane: Opaque32,
  sequence: number,
): LaneHeads.Seen => {
  const laneHead = createHash("sha256").update(`forged ${sequence}`).digest("base64url") as Opaque32;
  const head = { routerInstanceId: instanceOf(agent), lane, sequence, laneHead };
  return { ...head, signature: Lane.sign(network.routerSigner, head) };
};

/** The next delivery of an envelope, its lane head the true continuation. */
export const deliveryOf = (network: Network, agent: NetworkAgent, text: string): Delivery => {
  const envelope = Envelope.decodeBytes(Buffer.from(text));
  const envelopeDigest = Envelope.digestOfText(text);
  const lane = Lane.laneOf(envelope.recipientAgentIds);
  const last = LaneHeads.last(agent.db, lane);
  const sequence = (last?.sequence ?? 0) + 1;
  const laneHead = Lane.laneHeadOf({ lane, previous: last?.laneHead ?? null, sequence, envelopeDigest });
  const signature = Lane.sign(network.routerSigner, {
    routerInstanceId: instanceOf(agent),
    lane,
    sequence,
    laneHead,
  });
  return {
    cursor: cursorOf(agent) + 1,
    lane,
    sequence,
    laneHead,
    signature,
    envelope,
    envelopeText: text,
    envelopeDigest,
  };
};
