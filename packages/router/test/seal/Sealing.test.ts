import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { SealingKey } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { hkdfSync } from "node:crypto";
import { generalDecrypt, importJWK } from "jose";
import { expect } from "vitest";
import * as Limits from "../../src/Limits.ts";
import * as Sealed from "../../src/seal/Sealed.ts";
import * as Sealing from "../../src/seal/Sealing.ts";
import type * as SealingKeys from "../../src/seal/SealingKeys.ts";
import { idOf, makeAgents, random, type Agent } from "../Fixture.ts";

const agents = makeAgents(3);
const [ada, bob] = agents as [Agent, Agent, Agent];
const cards = agents.map(({ card }) => card);
const plaintext = Buffer.from("the body \u{1f98a}");

/** The private JWK that an agent would give to a JOSE library. */
const jwkOf = async (number: number) =>
  importJWK(
    {
      kty: "OKP",
      crv: "X25519",
      d: Buffer.alloc(32, `sealing ${number}`).toString("base64url"),
      x: (agents[number - 1] as Agent).card.sealingKey,
    },
    "ECDH-ES+A256KW",
  );

/** A seeded source, so that a failure repeats. */
const seeded = (): SealingKeys.Random => {
  let calls = 0;
  return (byteCount) => new Uint8Array(hkdfSync("sha256", "seed", "", String(calls++), byteCount));
};

const sealerWith = (options: Partial<Sealing.SealerOptions> = {}) =>
  Sealing.createSealer({ random: seeded(), clock: () => 0, ...options });

verifies("RTR-10", "a sealed body has one closed shape", () => {
  const decode = Closed.decoder(Sealed.schema);
  const sealed = ada.sealer.seal(cards, plaintext);
  expect(decode(sealed)).toEqual(sealed);
  const [entry] = sealed.recipients as [Sealed.SealedRecipient];
  const refused = [
    { ...sealed, unprotected: {} },
    { ...sealed, iv: "AAAA" },
    { ...sealed, tag: `${sealed.tag}A` },
    { ...sealed, ciphertext: "" },
    { ...sealed, ciphertext: "A" },
    { ...sealed, ciphertext: "AB" },
    { ...sealed, ciphertext: "AA==" },
    { ...sealed, ciphertext: "AA+/" },
    { ...sealed, protected: "A".repeat(Limits.protectedHeaderCharactersMax + 4) },
    { ...sealed, recipients: [] },
    { ...sealed, recipients: [{ ...entry, encrypted_key: entry.encrypted_key.slice(4) }] },
    { ...sealed, recipients: [{ ...entry, header: { ...entry.header, alg: "dir" } }] },
    { ...sealed, recipients: [{ encrypted_key: entry.encrypted_key }] },
  ];
  for (const value of refused) expect(() => decode(value), JSON.stringify(value)).toThrow(DecodeError);
});

verifies("RTR-12", "every envelope's body opens alone with a JOSE library, for each recipient", async () => {
  const sealer = sealerWith();
  for (const body of [plaintext, Buffer.alloc(0), Buffer.from("again"), random(100_000)]) {
    const sealed = sealer.seal(cards, body);
    for (const number of [1, 2, 3]) {
      const jwe = { ...sealed, recipients: sealed.recipients.map((entry) => ({ ...entry })) };
      const opened = await generalDecrypt(jwe, await jwkOf(number));
      expect(Buffer.from(opened.plaintext).equals(body)).toBe(true);
      expect(opened.protectedHeader).toMatchObject({ alg: "ECDH-ES+A256KW", enc: "A256GCM" });
    }
  }
});

verifies("RTR-13", "each recipient opens its own entry, and nobody else's", () => {
  const sealed = ada.sealer.seal(cards.slice(0, 2), plaintext);
  const outsider = agents[2] as Agent;
  for (const agent of [ada, bob]) expect(agent.opener.open(sealed)?.equals(plaintext)).toBe(true);
  expect(outsider.opener.open(sealed)).toBeNull();
  const renamed = {
    ...sealed,
    recipients: sealed.recipients.map((entry) => ({ ...entry, header: { kid: idOf(outsider) } })),
  };
  expect(outsider.opener.open(renamed)).toBeNull();
});

verifies("RTR-13", "a body with any byte changed does not open, whether its key is known or not", () => {
  const opener = () => Sealing.createOpener({ agentId: idOf(bob), sealingKey: bob.sealingSecret });
  const warm = opener();
  const sealed = ada.sealer.seal(cards, plaintext);
  expect(warm.open(sealed)).not.toBeNull();
  const flip = (text: string): string => (text.startsWith("A") ? "B" : "A") + text.slice(1);
  const entries = sealed.recipients.map((entry) => ({ ...entry, encrypted_key: flip(entry.encrypted_key) }));
  const header = Buffer.from(sealed.protected, "base64url").toString("utf8");
  const reheaded = (text: string) => ({ ...sealed, protected: Buffer.from(text).toString("base64url") });
  const damaged = [
    { ...sealed, ciphertext: flip(sealed.ciphertext) },
    { ...sealed, iv: flip(sealed.iv) },
    { ...sealed, tag: flip(sealed.tag) },
    { ...sealed, recipients: entries },
    reheaded(header.replace("A256GCM", "A128GCM")),
    reheaded(header.replace("{", '{"zip":"DEF",')),
    reheaded(header.replace(":", ": ")),
    reheaded(CanonicalJson.encode({ ...(JSON.parse(header) as { alg: string }), crit: [] })),
  ];
  for (const value of damaged) {
    expect(warm.open(value)).toBeNull();
    expect(opener().open(value)).toBeNull();
  }
  expect(warm.open(sealed)?.equals(plaintext)).toBe(true);
});

verifies(
  "RTR-14",
  "a recipient set keeps its content key, wrapped once, and every envelope has a fresh IV",
  () => {
    const sealer = sealerWith();
    const many = Array.from({ length: 50 }, () => sealer.seal(cards, plaintext));
    expect(new Set(many.map((sealed) => sealed.protected)).size).toBe(1);
    expect(new Set(many.map(({ recipients }) => recipients)).size).toBe(1);
    expect(new Set(many.map(({ iv }) => iv)).size).toBe(50);
    expect(new Set(many.map(({ ciphertext }) => ciphertext)).size).toBe(50);
    const others = [sealer.seal(cards.slice(1), plaintext), sealerWith().seal(cards, plaintext)];
    expect(others[0]?.protected).not.toBe(many[0]?.protected);
  },
);

verifies("RTR-14", "a content key ends with its hour, with its count, and when the clock turns back", () => {
  let now = 5_000;
  const sealer = sealerWith({ clock: () => now, envelopesPerContentKeyMax: 3 });
  const header = (): string => sealer.seal(cards, plaintext).protected;
  const first = header();
  now += Limits.contentKeyLifetimeMs - 1;
  expect(header()).toBe(first);
  now += 1;
  const second = header();
  expect(second).not.toBe(first);
  expect([header(), header()]).toEqual([second, second]);
  const third = header();
  expect(third).not.toBe(second);
  now -= 1;
  expect(header()).not.toBe(third);
  expect(Limits.envelopesPerContentKeyMax).toBe(2 ** 20);
});

verifies(
  "RTR-15",
  "sender and receiver keep a bounded number of content keys and go on without a dropped one",
  () => {
    const sealer = sealerWith({ contentKeysKeptMax: 1 });
    const opener = Sealing.createOpener({
      agentId: idOf(ada),
      sealingKey: ada.sealingSecret,
      openedKeysKeptMax: 1,
    });
    const sets = [cards, cards.slice(0, 2), cards.slice(0, 1)];
    const sealed = [...sets, ...sets].map((set) => sealer.seal(set, plaintext));
    expect(new Set(sealed.map((body) => body.protected)).size).toBe(6);
    for (const body of [...sealed, ...sealed]) expect(opener.open(body)?.equals(plaintext)).toBe(true);
  },
);

verifies("RTR-11", "a recipient whose key no honest agent has is named when sealing to it fails", () => {
  const zero = SealingKey.fromBytes(Buffer.alloc(32));
  const recipients = [ada.card, { agentId: idOf(bob), sealingKey: zero }];
  const failure = expect.objectContaining({ reason: "unusable-sealing-key", agentId: idOf(bob) });
  expect(() => ada.sealer.seal(recipients, plaintext)).toThrow(failure);
});
