import { expect, test } from "vitest";
import { MessageId, Opaque32 } from "@social-harness/protocol/identity/Identifier";
import type { Delivery } from "@social-harness/router/client/RouterClient";
import { createOwnCopies, type OwnCopy } from "../../src/transport/OwnCopies.ts";

const messageOf = (number: number): MessageId => {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32BE(number);
  return MessageId.fromBytes(bytes);
};
const digestOf = (byte: number): Opaque32 => Opaque32.fromBytes(Buffer.alloc(32, byte));

const delivery = (message: number, digest: number): Pick<Delivery, "envelope" | "envelopeDigest"> =>
  ({ envelope: { messageId: messageOf(message) }, envelopeDigest: digestOf(digest) }) as Delivery;

const copy: OwnCopy = { envelopeDigest: digestOf(7), packets: [], isAwaited: true };

test("a copy is found by the bytes that were sent, and once", () => {
  const copies = createOwnCopies();
  copies.remember(messageOf(1), copy);
  expect(copies.take(delivery(1, 7))).toBe(copy);
  expect(copies.take(delivery(1, 7))).toBeNull();
});

test("other bytes under an own message id are nobody's copy, and the true one is still found", () => {
  const copies = createOwnCopies();
  copies.remember(messageOf(1), copy);
  expect(copies.take(delivery(1, 8))).toBeNull();
  expect(copies.take(delivery(2, 7))).toBeNull();
  expect(copies.take(delivery(1, 7))).toBe(copy);
});

test("what never comes back is forgotten when there is too much of it", () => {
  const copies = createOwnCopies();
  for (let number = 0; number < 1_000; number++) copies.remember(messageOf(number), copy);
  expect(copies.take(delivery(0, 7))).toBeNull();
  expect(copies.take(delivery(999, 7))).toBe(copy);
});
