import { describe, expect } from "vitest";
import { SealingKey } from "@social-harness/protocol/identity/Identifier";
import * as X25519 from "@social-harness/protocol/identity/X25519";
import { verifies } from "@social-harness/testkit/Verifies";
import * as VectorFiles from "../encoding/VectorFiles.ts";

const keyOf = (digits: string): SealingKey => SealingKey.fromBytes(VectorFiles.hex(digits));

verifies("IDN-06", "every spelling of a small-order point is refused, and an honest key is not", () => {
  const refused = [
    "00".repeat(32),
    `${"00".repeat(31)}80`,
    `01${"00".repeat(31)}`,
    `01${"00".repeat(30)}80`,
    `ec${"ff".repeat(30)}7f`,
    `ed${"ff".repeat(30)}7f`,
    `ee${"ff".repeat(30)}7f`,
    `ee${"ff".repeat(31)}`,
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f11d7",
  ];
  for (const digits of refused) expect(X25519.isContributory(keyOf(digits)), digits).toBe(false);
  for (const digits of [`09${"00".repeat(31)}`, "ff".repeat(32), "5a".repeat(32)]) {
    expect(X25519.isContributory(keyOf(digits)), digits).toBe(true);
  }
});

describe.skipIf(VectorFiles.publishedAbsent)(VectorFiles.publishedNote, () => {
  verifies(
    "IDN-06",
    "of the Wycheproof X25519 keys, exactly those whose shared secret is zero are refused",
    () => {
      const suite = JSON.parse(VectorFiles.published("wycheproof_x25519.json").toString("utf8")) as {
        readonly numberOfTests: number;
        readonly testGroups: ReadonlyArray<{
          readonly tests: ReadonlyArray<{
            readonly tcId: number;
            readonly public: string;
            readonly shared: string;
          }>;
        }>;
      };
      const cases = suite.testGroups.flatMap(({ tests }) => tests);
      expect(cases.length).toBe(suite.numberOfTests);
      for (const { tcId, public: publicKey, shared } of cases) {
        expect(X25519.isContributory(keyOf(publicKey)), `case ${tcId}`).toBe(!/^0+$/.test(shared));
      }
    },
  );
});
