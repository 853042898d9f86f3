import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { Ed25519Signature, Opaque32, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import * as Limits from "../../src/Limits.ts";
import * as Frames from "../../src/wire/Frames.ts";
import { envelopeFrom, makeAgents, routerSigner, type Agent } from "../Fixture.ts";

const agents = makeAgents(2);
const [ada] = agents as [Agent, Agent];
const { envelope, text } = envelopeFrom(ada, agents, "hello");
const bytes32 = Opaque32.fromBytes(Buffer.alloc(32, 5));
const signature = Ed25519Signature.fromBytes(Buffer.alloc(64, 5));

const clientFrames: ReadonlyArray<Frames.Authenticate | Frames.Ack> = [
  { kind: "authenticate", agentCard: AgentCard.encode(ada.card), nonce: bytes32, signature },
  { kind: "ack", cursor: 1 },
];
const serverFrames: ReadonlyArray<Exclude<Frames.ServerFrame, Frames.Deliver>> = [
  {
    kind: "challenge",
    nonce: bytes32,
    routerInstanceId: RouterInstanceId.fromBytes(Buffer.alloc(16)),
    routerKey: routerSigner.publicKey,
  },
  { kind: "ready", acknowledgedCursor: 0, tailCursor: 2, acceptedSends: 1 },
  { kind: "refused", reason: "superseded" },
  { kind: "accepted", requestId: -7, lane: bytes32, sequence: 1 },
  { kind: "rejected", requestId: 7, reason: "mailbox-full" },
  { kind: "gap", fromCursor: 2, toCursor: 2 },
];

verifies(
  "RTR-20",
  "every frame survives the wire, and none is taken with a field too few or too many",
  () => {
    const suites = [
      { frames: clientFrames, decode: Frames.decodeClientFrame },
      { frames: serverFrames, decode: Frames.decodeServerFrame },
    ];
    for (const { frames, decode } of suites) {
      for (const frame of frames) {
        expect(decode(Frames.encode(frame))).toEqual(frame);
        expect(() => decode(CanonicalJson.encode({ ...frame, extra: 1 }))).toThrow(DecodeError);
        expect(() => decode(` ${Frames.encode(frame)}`)).toThrow(DecodeError);
        for (const field of Object.keys(frame)) {
          const rest = Object.fromEntries(Object.entries(frame).filter(([name]) => name !== field));
          expect(() => decode(CanonicalJson.encode(rest)), `${frame.kind} without ${field}`).toThrow(
            DecodeError,
          );
        }
      }
    }
  },
);

verifies(
  "RTR-20",
  "places count from 1, requests are safe integers, reasons are closed, a gap runs forward",
  () => {
    for (const cursor of [0, -1, 1.5, 2 ** 53]) {
      expect(() => Frames.decodeClientFrame(CanonicalJson.encode({ kind: "ack", cursor }))).toThrow(
        DecodeError,
      );
    }
    const refused = [
      { kind: "gap", fromCursor: 3, toCursor: 2 },
      { kind: "ready", acknowledgedCursor: 2, tailCursor: 1, acceptedSends: 0 },
      { kind: "refused", reason: "mailbox-full" },
      { kind: "rejected", requestId: 1, reason: "superseded" },
      { kind: "accepted", requestId: 2 ** 53, lane: bytes32, sequence: 1 },
      { kind: "accepted", requestId: 1, lane: bytes32, sequence: 0 },
      { kind: "ack", cursor: 1 },
    ];
    for (const frame of refused) {
      expect(() => Frames.decodeServerFrame(CanonicalJson.encode(frame))).toThrow(DecodeError);
    }
  },
);

verifies("RTR-20", "arbitrary text fails with the typed error or decodes to its own canonical form", () => {
  const frame = fc.constantFrom(
    ...clientFrames.map((known) => Frames.encode(known)),
    Frames.encodeSend(1, text),
  );
  fc.assert(
    fc.property(frame, fc.nat(4_000), fc.string({ maxLength: 4 }), (whole, place, junk) => {
      const at = place % whole.length;
      try {
        Frames.decodeClientFrame(whole.slice(0, at) + junk + whole.slice(at + 1));
      } catch (error) {
        expect(error).toBeInstanceOf(DecodeError);
      }
    }),
  );
  for (const junk of ["", "null", "[]", "{", '"x"', "[".repeat(500_000), '{"kind":"send"}', "\ud800"]) {
    expect(() => Frames.decodeClientFrame(junk)).toThrow(DecodeError);
  }
});

verifies(
  "RTR-23",
  "frames built around an envelope's text are the canonical form, and give that text back",
  () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.integer({ min: 1, max: 2 ** 53 - 1 }), (requestId, place) => {
        const send = Frames.encodeSend(requestId, text);
        expect(send).toBe(CanonicalJson.encode({ kind: "send", requestId, envelope }));
        expect(Frames.decodeClientFrame(send)).toEqual({
          kind: "send",
          requestId,
          envelope,
          envelopeText: text,
        });
        const body = { envelopeText: text, lane: bytes32, laneHead: bytes32, sequence: place, signature };
        const deliver = `{"cursor":${place},${Frames.encodeDeliveryBody(body)}`;
        const value = { kind: "deliver" as const, cursor: place, lane: bytes32, sequence: place } as const;
        expect(deliver).toBe(CanonicalJson.encode({ ...value, laneHead: bytes32, signature, envelope }));
        expect(Frames.decodeServerFrame(deliver)).toEqual({
          ...value,
          laneHead: bytes32,
          signature,
          envelope,
          envelopeText: text,
        });
      }),
    );
  },
);

verifies("RTR-22", "a send that names its request is answered although its envelope cannot be read", () => {
  const malformed = { kind: "unreadable_send", requestId: 4, reason: "malformed" };
  const sends = [
    CanonicalJson.encode({ kind: "send", requestId: 4, envelope: { ...envelope, extra: 1 } }),
    CanonicalJson.encode({ kind: "send", requestId: 4, envelope: "x" }),
    CanonicalJson.encode({ kind: "send", requestId: 4, envelope, extra: 1 }),
    `{"requestId":4,"kind":"send","envelope":${text}}`,
  ];
  for (const send of sends) expect(Frames.decodeClientFrame(send)).toEqual(malformed);
  expect(() => Frames.decodeClientFrame('{"envelope":1,"kind":"send","requestId":1.5}')).toThrow(DecodeError);
});

verifies(
  ["RTR-21", "RTR-22"],
  "an envelope past its limit in a frame within its own is too large, not malformed",
  () => {
    const grown = (length: number): string => {
      const more = length - text.length;
      const sealed = { ...envelope.sealed, ciphertext: envelope.sealed.ciphertext + "A".repeat(more) };
      return CanonicalJson.encode({ ...envelope, sealed });
    };
    const atMost = [0, 1, 2, 3].map((less) => Limits.envelopeBytesMax - less);
    const decoded = atMost.map((length) => Frames.decodeClientFrame(Frames.encodeSend(1, grown(length))));
    // One of four lengths is no length of base64url; the rest is what a limit means.
    expect(decoded.filter(({ kind }) => kind === "send").length).toBeGreaterThanOrEqual(2);
    const past = [1, 2, 3, 4].map((more) =>
      Frames.decodeClientFrame(Frames.encodeSend(1, grown(Limits.envelopeBytesMax + more))),
    );
    const reasons = past.map((frame) => (frame.kind === "unreadable_send" ? frame.reason : frame.kind));
    expect(new Set(reasons)).toEqual(new Set(["too-large", "malformed"]));
    expect(() => Frames.decodeClientFrame(`"${"a".repeat(Limits.frameBytesMax - 1)}"`)).toThrow(/longer/);
  },
);
