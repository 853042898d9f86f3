// Encoded AgentCards: good ones with their id and digest, and bad ones, each with the Registry key that its verifier has
// pinned and the stage at which this project refuses it.

import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import {
  AgentId,
  Ed25519Signature,
  PrincipalId,
  SealingKey,
  SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import * as Curve from "./Curve.ts";
import { type Files, json } from "./Family.ts";
import { issuedAt, otherRegistry, person, registry } from "./People.ts";

interface Refused {
  readonly name: string;
  readonly stage: "decode" | "verify";
  readonly encoded: string;
  readonly registryKey: SigningKey;
}

type Fields = { readonly [name: string]: CanonicalJson.Json };

const alice = person("alice");
const mallory = person("mallory");
const longest = person("a".repeat(32));
const text = CanonicalJson.encode(alice.card);
const encodeText = (spelling: string | Uint8Array): string => Base64Url.encode(Buffer.from(spelling));
const encodeFields = (fields: Fields): string => encodeText(CanonicalJson.encode(fields));

const refusedAs =
  (stage: "decode" | "verify") =>
  (name: string, encoded: string, registryKey: SigningKey = registry.publicKey): Refused => ({
    name,
    stage,
    encoded,
    registryKey,
  });
const undecodable = refusedAs("decode");
const unverifiable = refusedAs("verify");

/** A card whose fields were changed after the agent signed, and that the Registry signs all the same. */
const resigned = (changes: Partial<AgentCard.AgentCard>, signer: Signer = registry): string => {
  const { signature: _, ...unsigned } = { ...alice.card, ...changes };
  return encodeFields({ ...unsigned, signature: signer.sign("agent-card", unsigned) });
};

const flip = (bytes: Buffer): Buffer => {
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] as number) ^ 1;
  return bytes;
};

/** One bit, or for text one letter, changed in each field of a good card. */
const changed: { readonly [Field in Exclude<keyof AgentCard.AgentCard, "kind">]: string } = {
  agentId: AgentId.fromBytes(flip(AgentId.toBytes(alice.card.agentId))),
  principalId: PrincipalId.fromBytes(flip(PrincipalId.toBytes(alice.card.principalId))),
  agentName: "blice",
  signingKey: SigningKey.fromBytes(flip(SigningKey.toBytes(alice.card.signingKey))),
  sealingKey: SealingKey.fromBytes(flip(SealingKey.toBytes(alice.card.sealingKey))),
  registryKey: SigningKey.fromBytes(flip(SigningKey.toBytes(alice.card.registryKey))),
  issuedAt: "2026-11-30T12:00:01Z",
  keySignature: Ed25519Signature.fromBytes(flip(Ed25519Signature.toBytes(alice.card.keySignature))),
  signature: Ed25519Signature.fromBytes(flip(Ed25519Signature.toBytes(alice.card.signature))),
};

const spellings = (): ReadonlyArray<Refused> => {
  const encoded = AgentCard.encode(alice.card);
  const { kind, ...rest } = alice.card;
  const duplicated = text.replace('{"agentId":', `{"agentId":"${mallory.card.agentId}","agentId":`);
  return [
    undecodable("nothing", ""),
    undecodable("padding", `${encoded}=`),
    undecodable("a trailing space", `${encoded} `),
    undecodable("a trailing line feed", `${encoded}\n`),
    undecodable("a plus sign", `+${encoded.slice(1)}`),
    undecodable("cut short", encoded.slice(0, -4)),
    undecodable("an impossible length", `${encoded}AAAAA`.slice(0, Math.ceil(encoded.length / 4) * 4 + 1)),
    undecodable("bare JSON", text),
    undecodable("members out of order", encodeText(JSON.stringify({ kind, ...rest }))),
    undecodable("space between tokens", encodeText(text.replace(":", ": "))),
    undecodable("a trailing byte", encodeText(`${text}\n`)),
    undecodable("a byte-order mark", encodeText(`\ufeff${text}`)),
    undecodable("a duplicate member", encodeText(duplicated)),
    undecodable("an escape that is not due", encodeText(text.replace('"alice"', '"\\u0061lice"'))),
    undecodable(
      "not UTF-8",
      encodeText(Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.from([0xff, 0x22, 0x7d])])),
    ),
    undecodable("an array around it", encodeText(`[${text}]`)),
    undecodable("null", encodeText("null")),
    undecodable("larger than any card", encodeText(text.replace('"alice"', `"${"a".repeat(1_024)}"`))),
  ];
};

const shapes = (): ReadonlyArray<Refused> => {
  const fields: Fields = { ...alice.card };
  const replaced = (name: string, field: string, value: CanonicalJson.Json): Refused =>
    undecodable(name, encodeFields({ ...fields, [field]: value }));
  const times = [
    "2026-11-30T12:00:00.000Z",
    "2026-11-30T12:00:00+00:00",
    "2026-11-30t12:00:00z",
    "2026-11-30 12:00:00Z",
    "2026-11-30T12:00Z",
    "2026-11-30T24:00:00Z",
    "2026-11-30T12:60:00Z",
    "2026-12-31T23:59:60Z",
    "2026-13-01T12:00:00Z",
    "2026-11-31T12:00:00Z",
    "2026-02-29T12:00:00Z",
    "2100-02-29T12:00:00Z",
    "12026-11-30T12:00:00Z",
    "2026-11-30T12:00:00Z ",
  ];
  return [
    ...Object.keys(fields).flatMap((field) => [
      undecodable(
        `${field} is missing`,
        encodeFields(Object.fromEntries(Object.entries(fields).filter(([name]) => name !== field))),
      ),
      replaced(`${field} is null`, field, null),
      replaced(`${field} is a list`, field, [fields[field] as CanonicalJson.Json]),
    ]),
    replaced("an excess member", "more", ""),
    undecodable("an excess proto member", encodeText(text.replace("{", '{"__proto__":1,'))),
    replaced("another kind", "kind", "agent-card"),
    replaced("an id with another prefix", "agentId", alice.card.agentId.replace("agt_", "prn_")),
    replaced(
      "a principal with another prefix",
      "principalId",
      alice.card.principalId.replace("prn_", "agt_"),
    ),
    replaced("a key with a prefix", "signingKey", `key_${alice.card.signingKey}`),
    replaced("a key in hex", "signingKey", SigningKey.toBytes(alice.card.signingKey).toString("hex")),
    replaced("a signature cut short", "signature", alice.card.signature.slice(0, -1)),
    replaced("a name in capitals", "agentName", "Alice"),
    replaced("a name with a look-alike letter", "agentName", "\u0430lice"),
    replaced("a name with an invisible character", "agentName", "ali\u200bce"),
    ...times.map((time) => replaced(`issued at ${time}`, "issuedAt", time)),
  ];
};

const forgeries = (): ReadonlyArray<Refused> => {
  const strangerCard = person("alice", otherRegistry).card;
  const unsigned = { ...alice.card };
  const withKey = (signingKey: SigningKey): string =>
    resigned({ signingKey, agentId: AgentCard.agentIdOf(signingKey) });
  const sealedBy = (sealingKey: SealingKey): string => {
    const keys = { ...alice.keys, sealingKey };
    return encodeFields(AgentCard.issue(registry, keys, AgentCard.signKeys(alice.signer, keys), issuedAt));
  };
  const beyondPrime = Curve.scalarBytes(Curve.p + 1n);
  const topBit = Buffer.alloc(32);
  topBit[31] = 0x80;
  return [
    ...Object.entries(changed).map(([field, value]) =>
      unverifiable(`${field} changed`, encodeFields({ ...alice.card, [field]: value })),
    ),
    unverifiable("issued by a Registry that is not the pinned one", AgentCard.encode(strangerCard)),
    unverifiable(
      "a good card under another pinned key",
      AgentCard.encode(alice.card),
      otherRegistry.publicKey,
    ),
    unverifiable(
      "names the pinned Registry, signed by another",
      encodeFields(AgentCard.issue(otherRegistry, alice.keys, alice.card.keySignature, issuedAt)),
    ),
    unverifiable(
      "names another Registry, signed by the pinned one",
      resigned({ registryKey: otherRegistry.publicKey }),
    ),
    unverifiable("signed by the agent itself", resigned({}, alice.signer)),
    unverifiable("the Registry swapped the sealing key", resigned({ sealingKey: mallory.card.sealingKey })),
    unverifiable("the Registry changed the name", resigned({ agentName: mallory.card.agentName })),
    unverifiable("the Registry changed the principal", resigned({ principalId: mallory.card.principalId })),
    unverifiable(
      "the Registry gave the id to another key",
      resigned({ ...mallory.card, agentId: alice.card.agentId }),
    ),
    unverifiable("the Registry gave the key another id", resigned({ agentId: mallory.card.agentId })),
    unverifiable("another agent signed the keys", resigned({ keySignature: mallory.card.keySignature })),
    unverifiable(
      "the two signatures exchanged",
      encodeFields({ ...unsigned, signature: unsigned.keySignature, keySignature: unsigned.signature }),
    ),
    unverifiable("a signing key of small order", withKey(SigningKey.fromBytes(Curve.encode(Curve.torsion)))),
    unverifiable("a signing key that is not canonical", withKey(SigningKey.fromBytes(beyondPrime))),
    unverifiable("a signing key that is no point", withKey(SigningKey.fromBytes(Curve.scalarBytes(2n)))),
    unverifiable("a sealing key of zero", sealedBy(SealingKey.fromBytes(Buffer.alloc(32)))),
    unverifiable("a sealing key of one, beyond the prime", sealedBy(SealingKey.fromBytes(beyondPrime))),
    unverifiable("a sealing key of zero with its top bit set", sealedBy(SealingKey.fromBytes(topBit))),
    unverifiable(
      "a sealing key of order eight",
      sealedBy(
        SealingKey.fromBytes(
          Buffer.from("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800", "hex"),
        ),
      ),
    ),
  ];
};

const good = [alice, mallory, longest, person("0-1"), person("alvarez-agent")];

export const files = (): Files =>
  new Map([
    [
      "cards.json",
      json({
        about:
          "`accepted` cards verify under registryKey. Each of `refused` must be refused by a verifier that pinned the registryKey " +
          "beside it; `stage` says whether this project's decoder or its verification does so.",
        registryKey: registry.publicKey,
        accepted: [
          ...good.map(({ card }) => card),
          AgentCard.issue(
            registry,
            alice.keys,
            alice.card.keySignature,
            "2028-02-29T23:59:59Z" as AgentCard.Timestamp,
          ),
        ].map((card) => ({
          encoded: AgentCard.encode(card),
          card,
          agentId: AgentCard.agentIdOf(card.signingKey),
          digest: AgentCard.digestOf(card),
        })),
        refused: [...spellings(), ...shapes(), ...forgeries()],
      }),
    ],
  ]);
