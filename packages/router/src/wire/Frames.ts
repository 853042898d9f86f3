// The frames between an endpoint and a Router: two closed unions of canonical JSON texts, decoded with bounds.
// A frame that holds an envelope is built around the envelope's finished text and taken apart the same way, so the
// large part is never encoded twice. Knows no socket. Implements RTR-20 to RTR-23.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import {
  Ed25519Signature,
  Opaque32,
  RouterInstanceId,
  SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as Protocol from "@social-harness/protocol/Limits";
import * as Schema from "effect/Schema";
import * as Limits from "../Limits.ts";
import * as Envelope from "./Envelope.ts";

export const subprotocol = "social-harness.router.v1";

/** Why a Router does not talk, or no longer talks, to a caller. */
export const RefusedReason = Schema.Literals([
  "bad-card",
  "bad-signature",
  "bad-nonce",
  "unsupported-version",
  "superseded",
  "overloaded",
]);
export type RefusedReason = typeof RefusedReason.Type;

/** Why a Router did not accept one send. `rate-limited` and `unavailable` alone are worth an unchanged repeat. */
export const RejectedReason = Schema.Literals([
  "malformed",
  "too-large",
  "not-sender",
  "bad-signature",
  "idempotency-conflict",
  "mailbox-full",
  "rate-limited",
  "unavailable",
]);
export type RejectedReason = typeof RejectedReason.Type;

/** Places in a mailbox and in a lane count from 1; 0 stands for "none yet" where a frame says so. */
const Place = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1));
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0));

const Authenticate = Schema.Struct({
  kind: Schema.Literal("authenticate"),
  agentCard: AgentCard.Encoded,
  nonce: Opaque32.schema,
  signature: Ed25519Signature.schema,
});
const Send = Schema.Struct({
  kind: Schema.Literal("send"),
  envelope: Envelope.schema,
  requestId: Schema.Int,
});
const Ack = Schema.Struct({ kind: Schema.Literal("ack"), cursor: Place });

const Challenge = Schema.Struct({
  kind: Schema.Literal("challenge"),
  nonce: Opaque32.schema,
  routerInstanceId: RouterInstanceId.schema,
  routerKey: SigningKey.schema,
});
const Ready = Schema.Struct({
  kind: Schema.Literal("ready"),
  acknowledgedCursor: Count,
  tailCursor: Count,
  acceptedSends: Count,
}).check(
  Schema.makeFilter(
    ({ acknowledgedCursor, tailCursor }) =>
      acknowledgedCursor <= tailCursor || "expected acknowledgedCursor <= tailCursor",
  ),
);
const Refused = Schema.Struct({ kind: Schema.Literal("refused"), reason: RefusedReason });
const Accepted = Schema.Struct({
  kind: Schema.Literal("accepted"),
  requestId: Schema.Int,
  lane: Opaque32.schema,
  sequence: Place,
});
const Rejected = Schema.Struct({
  kind: Schema.Literal("rejected"),
  requestId: Schema.Int,
  reason: RejectedReason,
});
const Deliver = Schema.Struct({
  kind: Schema.Literal("deliver"),
  cursor: Place,
  envelope: Envelope.schema,
  lane: Opaque32.schema,
  laneHead: Opaque32.schema,
  sequence: Place,
  signature: Ed25519Signature.schema,
});
const Gap = Schema.Struct({ kind: Schema.Literal("gap"), fromCursor: Place, toCursor: Place }).check(
  Schema.makeFilter(
    ({ fromCursor, toCursor }) => fromCursor <= toCursor || "expected fromCursor <= toCursor",
  ),
);

export type Authenticate = typeof Authenticate.Type;
export type Ack = typeof Ack.Type;
export type Challenge = typeof Challenge.Type;
export type Ready = typeof Ready.Type;
export type Refused = typeof Refused.Type;
export type Accepted = typeof Accepted.Type;
export type Rejected = typeof Rejected.Type;
export type Gap = typeof Gap.Type;

/** A send with its envelope's own text, cut from the frame. */
export type Send = typeof Send.Type & { readonly envelopeText: string };
/** A send that can be answered although its envelope cannot be read. */
export interface UnreadableSend {
  readonly kind: "unreadable_send";
  readonly requestId: number;
  readonly reason: "malformed" | "too-large";
}
/** A delivery with its envelope's own text, cut from the frame. */
export type Deliver = typeof Deliver.Type & { readonly envelopeText: string };

export type ClientFrame = Authenticate | Send | UnreadableSend | Ack;
export type ServerFrame = Challenge | Ready | Refused | Accepted | Rejected | Deliver | Gap;

const bounds = { bytesMax: Limits.frameBytesMax, depthMax: Protocol.jsonDepthMax };
const decodeClient = Closed.decoder(Schema.Union([Authenticate, Send, Ack]));
const decodeServer = Closed.decoder(
  Schema.Union([Challenge, Ready, Refused, Accepted, Rejected, Deliver, Gap]),
);

/** In JCS order `envelope` stands first in a send and second in a delivery; what follows it has a known start. */
const sendPrefix = '{"envelope":';
const sendSuffix = (requestId: number): string => `,"kind":"send","requestId":${requestId}}`;
const deliverPrefix = (cursor: number): string => `{"cursor":${cursor},"envelope":`;

/** The part of a delivery that is the same for every recipient: everything after its cursor. */
export interface DeliveryBody {
  readonly envelopeText: string;
  readonly lane: Opaque32;
  readonly laneHead: Opaque32;
  readonly sequence: number;
  readonly signature: Ed25519Signature;
}

const deliverSuffix = ({ lane, laneHead, sequence, signature }: Omit<DeliveryBody, "envelopeText">): string =>
  `,"kind":"deliver","lane":"${lane}","laneHead":"${laneHead}","sequence":${sequence},"signature":"${signature}"}`;

export const encodeSend = (requestId: number, envelopeText: string): string =>
  sendPrefix + envelopeText + sendSuffix(requestId);

/** `"envelope":...}`: what stands behind `{"cursor":N,` in the delivery to each recipient. */
export const encodeDeliveryBody = (body: DeliveryBody): string =>
  `"envelope":${body.envelopeText}${deliverSuffix(body)}`;

export const encode = (frame: Exclude<ClientFrame | ServerFrame, Send | UnreadableSend | Deliver>): string =>
  CanonicalJson.encode(frame);

/** The request that a text which is no valid frame still names, so that the sender learns its fate; else null. */
const requestIdOf = (text: string): number | null => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { kind, requestId } = value as { kind?: unknown; requestId?: unknown };
  return kind === "send" && Number.isSafeInteger(requestId) ? (requestId as number) : null;
};

/** Decodes what a client sent. Throws `DecodeError` for anything that cannot even be answered. */
export const decodeClientFrame = (text: string): ClientFrame => {
  try {
    const frame = decodeClient(CanonicalJson.decodeText(text, bounds));
    if (frame.kind !== "send") return frame;
    const envelopeText = text.slice(sendPrefix.length, -sendSuffix(frame.requestId).length);
    return envelopeText.length > Limits.envelopeBytesMax
      ? { kind: "unreadable_send", requestId: frame.requestId, reason: "too-large" }
      : { ...frame, envelopeText };
  } catch (error) {
    const requestId = error instanceof DecodeError && error.reason !== "too-large" ? requestIdOf(text) : null;
    if (requestId === null) throw error;
    return { kind: "unreadable_send", requestId, reason: "malformed" };
  }
};

/** Decodes what a Router sent. Throws `DecodeError`. */
export const decodeServerFrame = (text: string): ServerFrame => {
  const frame = decodeServer(CanonicalJson.decodeText(text, bounds));
  return frame.kind === "deliver"
    ? {
        ...frame,
        envelopeText: text.slice(deliverPrefix(frame.cursor).length, -deliverSuffix(frame).length),
      }
    : frame;
};
