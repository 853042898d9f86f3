import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { createHash } from "node:crypto";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { Opaque32, RouterInstanceId, type AgentId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Envelope from "../../src/wire/Envelope.ts";
import * as Lane from "../../src/wire/Lane.ts";
import { idOf, makeAgents, routerSigner } from "../Fixture.ts";

const ids = Envelope.orderRecipients(makeAgents(3).map(idOf));
const digest = Opaque32.fromBytes(Buffer.alloc(32, 1));
const lane = Lane.laneOf(ids);

/** The rule of the specification, written out. */
const hashed = (artifact: string, value: CanonicalJson.Json): string =>
  createHash("sha256")
    .update(`social-harness/v1/${artifact}\0${CanonicalJson.encode(value)}`)
    .digest("base64url");

verifies("RTR-06", "a lane is the hash of its recipient set alone", () => {
  expect(lane).toBe(hashed("lane", { recipientAgentIds: ids }));
  expect(Lane.laneOf(ids.slice(0, 2))).not.toBe(lane);
  expect(Lane.laneOf([...ids].reverse() as Array<AgentId>)).not.toBe(lane);
});

verifies("RTR-07", "a lane head covers lane, predecessor, sequence and envelope digest", () => {
  const first = { lane, previous: null, sequence: 1, envelopeDigest: digest };
  const head = Lane.laneHeadOf(first);
  expect(head).toBe(hashed("lane-head", first));
  const others = [
    { ...first, lane: Lane.laneOf(ids.slice(1)) },
    { ...first, previous: head },
    { ...first, sequence: 2 },
    { ...first, envelopeDigest: lane },
  ];
  for (const other of others) expect(Lane.laneHeadOf(other)).not.toBe(head);
});

verifies(
  "RTR-08",
  "a signed lane head verifies for its own instance, lane, sequence, head and key only",
  () => {
    const routerInstanceId = Lane.routerInstanceIdOf(routerSigner.publicKey, digest);
    const head = { routerInstanceId, lane, sequence: 3, laneHead: digest };
    const signature = Lane.sign(routerSigner, head);
    const holds = (changed: Partial<Lane.LaneHead>, key = routerSigner.publicKey): boolean =>
      Lane.verify(Ed25519.verifier, key, { ...head, ...changed }, signature);
    expect(holds({})).toBe(true);
    expect(holds({ routerInstanceId: RouterInstanceId.fromBytes(Buffer.alloc(16)) })).toBe(false);
    expect(holds({ lane: digest })).toBe(false);
    expect(holds({ sequence: 4 })).toBe(false);
    expect(holds({ laneHead: lane })).toBe(false);
    expect(holds({}, Ed25519.signerFromSeed(Buffer.alloc(32, 3)).publicKey)).toBe(false);
    const statement = { kind: "lane_head_statement", ...head };
    expect(Ed25519.verifier.verify(routerSigner.publicKey, "lane-head-statement", statement, signature)).toBe(
      true,
    );
  },
);

verifies("RTR-09", "an instance is a Router key on one log", () => {
  const { publicKey } = routerSigner;
  const id = Lane.routerInstanceIdOf(publicKey, digest);
  const whole = Buffer.from(hashed("router-instance", { routerKey: publicKey, logId: digest }), "base64url");
  expect(id).toBe(`rti_${whole.subarray(0, 16).toString("base64url")}`);
  expect(Lane.routerInstanceIdOf(publicKey, lane)).not.toBe(id);
  expect(Lane.routerInstanceIdOf(Ed25519.signerFromSeed(Buffer.alloc(32, 3)).publicKey, digest)).not.toBe(id);
});
