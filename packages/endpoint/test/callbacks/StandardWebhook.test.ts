// Secrets and signatures, against the reference implementation of the Standard Webhooks specification.

import * as fc from "fast-check";
import { inspect } from "node:util";
import { Webhook } from "standardwebhooks";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as StandardWebhook from "../../src/callbacks/StandardWebhook.ts";

const textOf = (bytes: Uint8Array): string => `whsec_${Buffer.from(bytes).toString("base64")}`;
const parsed = (text: string): StandardWebhook.WebhookSecret => {
  const secret = StandardWebhook.parseSecret(text);
  if (secret === null) throw new Error("no secret");
  return secret;
};

verifies("ING-77", "24 to 64 bytes make a secret, one fewer or more does not (C38)", () => {
  for (let size = 0; size <= 80; size++) {
    const secret = StandardWebhook.parseSecret(textOf(new Uint8Array(size).fill(0xfb)));
    expect(secret !== null).toBe(size >= 24 && size <= 64);
    if (secret !== null) expect(secret.symmetricKeySize).toBe(size);
  }
});

verifies("ING-77", "another spelling of the same bytes is no secret (C38)", () => {
  // The first two characters are + and / of the alphabet, and the last group has one =.
  const encoded = Buffer.from([0xfb, 0xff, ...new Uint8Array(24)]).toString("base64");
  expect(encoded).toMatch(/^\+\/.*[^=]=$/);
  expect(StandardWebhook.parseSecret(`whsec_${encoded}`)).not.toBeNull();
  for (const text of [
    encoded,
    `whsec${encoded}`,
    `WHSEC_${encoded}`,
    `whsk_${encoded}`,
    ` whsec_${encoded}`,
    `whsec_${encoded} `,
    `whsec_${encoded}\n`,
    `whsec_ ${encoded}`,
    `whsec_${encoded.replaceAll("=", "")}`,
    `whsec_${encoded}=`,
    `whsec_${encoded}====`,
    `whsec_${encoded.replaceAll("+", "-").replaceAll("/", "_")}`,
    `whsec_${encoded.slice(0, 8)}\n${encoded.slice(8)}`,
    // A bit that no byte has: an alias for a lax decoder.
    `whsec_${encoded.replace(/A=$/, "B=")}`,
    `whsec_whsec_${encoded}`,
    "whsec_",
    "",
  ]) {
    expect(StandardWebhook.parseSecret(text)).toBeNull();
  }
});

verifies("ING-77", "a secret shows none of its bytes to whoever prints it (C76)", () => {
  const text = textOf(Buffer.from("a secret that has to stay one"));
  const secret = parsed(text);
  for (const shown of [inspect(secret, { depth: 9 }), JSON.stringify(secret), String(secret)]) {
    expect(shown).not.toContain("secret that");
    expect(shown).not.toContain(text.slice(6, 20));
  }
});

verifies("ING-78", "the reference implementation makes and takes the same signatures", () => {
  const bytes = fc.uint8Array({ minLength: 24, maxLength: 64 });
  const id = fc.stringMatching(/^evt_[A-Za-z0-9_-]{43}$/);
  const time = fc.integer({ min: 0, max: 4_102_444_800 });
  const body = fc.json().map((text) => Buffer.from(text));
  fc.assert(
    fc.property(bytes, id, time, body, (secretBytes, eventId, seconds, content) => {
      const text = textOf(secretBytes);
      const signature = StandardWebhook.sign(parsed(text), eventId, seconds, content);
      expect(new Webhook(text).sign(eventId, new Date(seconds * 1_000), content.toString())).toBe(signature);
    }),
  );
  const text = textOf(new Uint8Array(32).fill(7));
  const seconds = Math.floor(Date.now() / 1_000);
  const content = Buffer.from('{"kind":"item","emoji":"\u{1f512}"}');
  const headers = {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(seconds),
    "webhook-signature": StandardWebhook.sign(parsed(text), "evt_1", seconds, content),
  };
  expect(new Webhook(text).verify(content.toString(), headers)).toMatchObject({ kind: "item" });
  expect(() => new Webhook(text).verify(`${content.toString()} `, headers)).toThrow();
  expect(() => new Webhook(text).verify(content.toString(), { ...headers, "webhook-id": "evt_2" })).toThrow();
  expect(() => new Webhook(textOf(new Uint8Array(32))).verify(content.toString(), headers)).toThrow();
});

verifies("ING-78", "a signature is this one", () => {
  // Computed with `openssl dgst -sha256 -mac HMAC`.
  const secret = parsed("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const body = Buffer.from('{"test": 2432232314}');
  expect(StandardWebhook.sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body)).toBe(
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  );
});
