import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { SealingKey } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { describe, expect } from "vitest";
import * as SealingKeys from "../../src/seal/SealingKeys.ts";
import { random } from "../Fixture.ts";

interface Vector {
  readonly tcId: number;
  readonly public: string;
  readonly private: string;
  readonly shared: string;
}

const agreement = (vector: Omit<Vector, "tcId">): string | null => {
  const secret = SealingKeys.fromSeed(Buffer.from(vector.private, "hex"));
  return secret.agree(SealingKey.fromBytes(Buffer.from(vector.public, "hex")))?.toString("hex") ?? null;
};

verifies("RTR-11", "the vectors of RFC 7748 and RFC 8037 agree", () => {
  const vectors = [
    {
      public: "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
      private: "a046e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449a44",
      shared: "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
    },
    {
      public: "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
      private: "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
      shared: "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
    },
  ];
  for (const vector of vectors) expect(agreement(vector)).toBe(vector.shared);
});

verifies("RTR-11", "two fresh secrets agree, each through the other's public key", () => {
  const [one, two] = [0, 1].map(() => SealingKeys.fromSeed(SealingKeys.generateSeed(random))) as [
    SealingKeys.SealingSecret,
    SealingKeys.SealingSecret,
  ];
  expect(one.agree(two.publicKey)?.equals(two.agree(one.publicKey) as Buffer)).toBe(true);
  expect(Object.keys(one).sort()).toEqual(["agree", "publicKey"]);
  expect(() => SealingKeys.fromSeed(Buffer.alloc(31))).toThrow(RangeError);
});

const repositoryRoot = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..", "..");
const published = join(repositoryRoot, "..", "shared", "data", "vectors", "wycheproof_x25519.json");
const absent = !existsSync(published);
const note = absent
  ? "published suite (skipped: the folder of published vectors is not beside the repository)"
  : "published suite";

describe.skipIf(absent)(note, () => {
  verifies("RTR-11", "all of Wycheproof agree, and a secret of zeros is refused instead of used", () => {
    const file = JSON.parse(readFileSync(published, "utf8")) as {
      readonly testGroups: ReadonlyArray<{ readonly tests: ReadonlyArray<Vector> }>;
    };
    const vectors = file.testGroups.flatMap(({ tests }) => tests);
    expect(vectors.length).toBe(518);
    const isZero = ({ shared }: Vector): boolean => /^0+$/.test(shared);
    for (const vector of vectors) {
      expect(agreement(vector), `case ${vector.tcId}`).toBe(isZero(vector) ? null : vector.shared);
    }
    expect(vectors.filter(isZero).length).toBeGreaterThan(20);
  });
});
