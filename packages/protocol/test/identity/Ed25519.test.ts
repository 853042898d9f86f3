import { createPrivateKey, sign as signBytes } from "node:crypto";
import { describe, expect } from "vitest";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { preimage } from "@social-harness/protocol/encoding/Hash";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { Ed25519Signature, SigningKey } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Curve from "../../../../tools/vectors/Curve.ts";
import * as VectorFiles from "../encoding/VectorFiles.ts";

const { hex } = VectorFiles;

interface Tagged {
  readonly name: string;
  readonly publicKey: SigningKey;
  readonly artifact: string;
  readonly value: Json;
  readonly signature: Ed25519Signature;
}

const vectors = VectorFiles.json<{
  readonly accepted: ReadonlyArray<Tagged & { readonly seed: string }>;
  readonly refused: ReadonlyArray<Tagged>;
  readonly raw: ReadonlyArray<{
    name: string;
    publicKey: string;
    message: string;
    signature: string;
    valid: boolean;
  }>;
}>("signatures.json");

const isAccepted = ({ publicKey, artifact, value, signature }: Tagged): boolean =>
  Ed25519.verifier.verify(publicKey, artifact, value, signature);

verifies(
  "FND-11",
  "a signer makes the stated signatures over the tagged preimage, and the verifier takes them",
  () => {
    for (const entry of vectors.accepted) {
      const signer = Ed25519.signerFromSeed(hex(entry.seed));
      expect(signer.publicKey).toBe(entry.publicKey);
      expect(signer.sign(entry.artifact, entry.value)).toBe(entry.signature);
      expect(isAccepted(entry), entry.name).toBe(true);
      expect(
        Ed25519.verifyRaw(
          SigningKey.toBytes(entry.publicKey),
          preimage(entry.artifact, entry.value),
          Ed25519Signature.toBytes(entry.signature),
        ),
      ).toBe(true);
    }
  },
);

verifies(
  "FND-11",
  "another artifact, value, key or a changed bit anywhere in the signature is refused",
  () => {
    for (const entry of vectors.refused) expect(isAccepted(entry), entry.name).toBe(false);
    const [entry] = vectors.accepted;
    if (entry === undefined) throw new RangeError("no accepted vector");
    for (let bit = 0; bit < 512; bit++) {
      const bytes = Ed25519Signature.toBytes(entry.signature);
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(isAccepted({ ...entry, signature: Ed25519Signature.fromBytes(bytes) }), `bit ${bit}`).toBe(
        false,
      );
    }
    for (let bit = 0; bit < 256; bit++) {
      const bytes = SigningKey.toBytes(entry.publicKey);
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(isAccepted({ ...entry, publicKey: SigningKey.fromBytes(bytes) }), `key bit ${bit}`).toBe(false);
    }
  },
);

verifies("FND-12", "crafted edge cases get the strict profile's verdict", () => {
  for (const { name, publicKey, message, signature, valid } of vectors.raw) {
    expect(Ed25519.verifyRaw(hex(publicKey), hex(message), hex(signature)), name).toBe(valid);
  }
});

verifies(["FND-11", "FND-12"], "verification on the thread pool gives the same verdicts", async () => {
  for (const entry of [...vectors.accepted, ...vectors.refused]) {
    const { publicKey, artifact, value, signature } = entry;
    const verdict = await Ed25519.verifyInPool(publicKey, artifact, CanonicalJson.encode(value), signature);
    expect(verdict, "name" in entry ? entry.name : artifact).toBe(isAccepted(entry));
  }
  // The tagged form signs no crafted message, so here the crafted keys and signatures only have to be refused alike.
  for (const { name, publicKey, signature } of vectors.raw) {
    if (publicKey.length !== 64 || signature.length !== 128) continue;
    const crafted = {
      name,
      publicKey: SigningKey.fromBytes(hex(publicKey)),
      artifact: "example",
      value: null,
      signature: Ed25519Signature.fromBytes(hex(signature)),
    };
    const verdict = await Ed25519.verifyInPool(
      crafted.publicKey,
      crafted.artifact,
      CanonicalJson.encode(crafted.value),
      crafted.signature,
    );
    expect(verdict, name).toBe(isAccepted(crafted));
  }
});

verifies("FND-12", "both ways to verify agree on every crafted case of the right lengths", () => {
  for (const { name, publicKey, message, signature } of vectors.raw) {
    if (publicKey.length !== 64 || signature.length !== 128) continue;
    const key = SigningKey.fromBytes(hex(publicKey));
    const strict = Ed25519.isStrictKey(key);
    const accepted = Ed25519.verifyRaw(hex(publicKey), hex(message), hex(signature));
    expect(strict || !accepted, name).toBe(true);
  }
});

verifies("FND-13", "a key is strict when it is canonical, of the curve and not of small order", () => {
  for (const { publicKey } of vectors.accepted) expect(Ed25519.isStrictKey(publicKey)).toBe(true);
  const keyOf = (digits: string): SigningKey => SigningKey.fromBytes(hex(digits));
  const refused = [
    "00".repeat(32),
    `01${"00".repeat(31)}`,
    `ec${"ff".repeat(30)}7f`,
    `ed${"ff".repeat(30)}7f`,
    `ee${"ff".repeat(30)}7f`,
    "ff".repeat(32),
    `01${"00".repeat(30)}80`,
    `02${"00".repeat(31)}`,
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  ];
  for (const digits of refused) expect(Ed25519.isStrictKey(keyOf(digits)), digits).toBe(false);
});

verifies(
  "FND-12",
  "our own check, not the platform's, refuses each of the eight points of small order and their aliases",
  () => {
    const y255 = 2n ** 255n;
    const aliases = Array.from({ length: 8 }, (_, i) => Curve.multiply(BigInt(i), Curve.torsion)).flatMap(
      ({ y }) =>
        [y, y + y255, y + Curve.p, y + Curve.p + y255].filter(
          (packed) => packed < 2n ** 256n && packed % y255 >= y % y255,
        ),
    );
    expect(new Set(aliases).size).toBe(14);
    for (const packed of aliases)
      expect(Ed25519.isStrictPoint(Curve.scalarBytes(packed)), String(packed)).toBe(false);
    expect(Ed25519.isStrictPoint(Curve.encode(Curve.base))).toBe(true);
    expect(Ed25519.isStrictPoint(Curve.encode(Curve.add(Curve.base, Curve.torsion)))).toBe(true);
  },
);

verifies("FND-13", "of the small y coordinates, exactly those of the curve make keys", () => {
  const onCurve = Array.from({ length: 20 }, (_, i) => i + 2).filter((y) => {
    const encoding = Buffer.alloc(32);
    encoding[0] = y;
    return Ed25519.isStrictKey(SigningKey.fromBytes(encoding));
  });
  expect(onCurve).toEqual([3, 4, 5, 6, 9, 10, 14, 15, 16, 18, 19, 21]);
});

verifies("FND-11", "nothing that a signer returns shows its seed", () => {
  const seed = Buffer.alloc(32, 7);
  const signer = Ed25519.signerFromSeed(seed);
  expect(Object.keys(signer).toSorted()).toEqual(["publicKey", "sign", "signText"]);
  expect(JSON.stringify(signer)).not.toContain(seed.toString("base64url").slice(0, 20));
});

describe.skipIf(VectorFiles.publishedAbsent)(VectorFiles.publishedNote, () => {
  verifies(
    "FND-12",
    "exactly 43 of the 914 CCTV cases are accepted, none with a flag that the profile names",
    () => {
      const cases = JSON.parse(VectorFiles.published("cctv_ed25519.json").toString("utf8")) as ReadonlyArray<{
        readonly number: number;
        readonly key: string;
        readonly sig: string;
        readonly msg: string;
        readonly flags: ReadonlyArray<string> | null;
      }>;
      const accepted = cases.filter(({ key, sig, msg }) =>
        Ed25519.verifyRaw(hex(key), Buffer.from(msg), hex(sig)),
      );
      expect(cases.length).toBe(914);
      expect(accepted.length).toBe(43);
      // Points with a small-order component are refused only when the cofactorless equation fails ("residue").
      const forbidden = [
        "low_order_A",
        "low_order_R",
        "low_order_residue",
        "non_canonical_A",
        "non_canonical_R",
        "reencoded_k",
      ];
      const strict = cases.filter(({ flags }) => !(flags ?? []).some((flag) => forbidden.includes(flag)));
      expect(accepted.map(({ number }) => number)).toEqual(strict.map(({ number }) => number));
    },
  );

  verifies("FND-12", "only number 3 of the speccheck cases is accepted", () => {
    const cases = JSON.parse(
      VectorFiles.published("speccheck_ed25519.json").toString("utf8"),
    ) as ReadonlyArray<{
      readonly message: string;
      readonly pub_key: string;
      readonly signature: string;
    }>;
    expect(cases.length).toBe(12);
    const accepted = cases.flatMap(({ message, pub_key, signature }, number) =>
      Ed25519.verifyRaw(hex(pub_key), hex(message), hex(signature)) ? [number] : [],
    );
    // 0-2 small-order A or R, 4-5 hold only with the cofactor, 6-7 S beyond L, 8-11 non-canonical R or A.
    expect(accepted).toEqual([3]);
  });

  verifies(
    "FND-12",
    "every Wycheproof Ed25519 case gets its published verdict: none lies where profiles differ",
    () => {
      const suite = JSON.parse(VectorFiles.published("wycheproof_ed25519.json").toString("utf8")) as {
        readonly numberOfTests: number;
        readonly testGroups: ReadonlyArray<{
          readonly publicKey: { readonly pk: string };
          readonly tests: ReadonlyArray<{
            readonly tcId: number;
            readonly comment: string;
            readonly msg: string;
            readonly sig: string;
            readonly result: string;
          }>;
        }>;
      };
      let checked = 0;
      for (const { publicKey, tests } of suite.testGroups) {
        for (const { tcId, comment, msg, sig, result } of tests) {
          // The suite marks nothing "acceptable", so the strict profile has no choice to make here.
          expect(["valid", "invalid"]).toContain(result);
          expect(Ed25519.verifyRaw(hex(publicKey.pk), hex(msg), hex(sig)), `${tcId} ${comment}`).toBe(
            result === "valid",
          );
          checked += 1;
        }
      }
      expect(checked).toBe(suite.numberOfTests);
    },
  );
});

verifies(
  "FND-12",
  "a signature of the platform's own signer is accepted for messages of every small length",
  () => {
    const seed = Buffer.alloc(32, 9);
    const pkcs8 = Buffer.concat([hex("302e020100300506032b657004220420"), seed]);
    const key = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
    const publicKey = SigningKey.toBytes(Ed25519.signerFromSeed(seed).publicKey);
    for (let length = 0; length < 130; length++) {
      const message = Buffer.alloc(length, length);
      expect(Ed25519.verifyRaw(publicKey, message, signBytes(null, message, key))).toBe(true);
    }
  },
);
