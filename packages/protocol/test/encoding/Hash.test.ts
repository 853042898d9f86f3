import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { expect } from "vitest";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import { hash, preimage } from "@social-harness/protocol/encoding/Hash";
import { verifies } from "@social-harness/testkit/Verifies";
import * as VectorFiles from "./VectorFiles.ts";

const vectors = VectorFiles.json<{
  readonly hashes: ReadonlyArray<{ artifact: string; value: Json; preimage: string; sha256: string }>;
  readonly identifiers: ReadonlyArray<{
    artifact: string;
    value: Json;
    prefix: string;
    byteCount: number;
    identifier: string;
  }>;
}>("hashes.json");

verifies("FND-10", "every hash vector has the stated preimage and digest", () => {
  for (const { artifact, value, preimage: expected, sha256 } of vectors.hashes) {
    expect(preimage(artifact, value).toString("hex")).toBe(expected);
    expect(hash(artifact, value).toString("hex")).toBe(sha256);
    expect(createHash("sha256").update(VectorFiles.hex(expected)).digest("hex")).toBe(sha256);
  }
});

verifies("FND-10", "an identifier is its prefix and the leading bytes of the digest", () => {
  for (const { artifact, value, prefix, byteCount, identifier } of vectors.identifiers) {
    expect(prefix + Base64Url.encode(hash(artifact, value).subarray(0, byteCount))).toBe(identifier);
  }
});

verifies("FND-10", "the preimage is the tag, one NUL and the canonical bytes", () => {
  expect(preimage("record", { b: 1, a: "\u00e9" }).toString("latin1")).toBe(
    'social-harness/v1/record\0{"a":"\u00c3\u00a9","b":1}',
  );
  expect(hash("record", {}).byteLength).toBe(32);
});

verifies("FND-10", "no two artifacts share a preimage, whatever the values", () => {
  const artifact = fc.stringMatching(/^[a-z]+(-[a-z]+)*$/);
  fc.assert(
    fc.property(artifact, artifact, fc.jsonValue(), fc.jsonValue(), (left, right, one, other) => {
      fc.pre(left !== right);
      expect(preimage(left, one as Json).equals(preimage(right, other as Json))).toBe(false);
    }),
  );
});
