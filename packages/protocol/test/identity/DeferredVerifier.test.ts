import { describe, expect } from "vitest";
import * as DeferredVerifier from "@social-harness/protocol/identity/DeferredVerifier";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { verifies } from "@social-harness/testkit/Verifies";

const signer = Ed25519.signerFromSeed(Buffer.alloc(32, 7));
const other = Ed25519.signerFromSeed(Buffer.alloc(32, 8));
const value = { said: "so" };

/** Asks for signatures over `value` under both kinds of artifact, the last of them by `last`. */
const asked = (artifact: string, count: number, last = signer): DeferredVerifier.DeferredVerifier => {
  const deferred = DeferredVerifier.create();
  for (let i = 0; i < count; i++) {
    const by = i === count - 1 ? last : signer;
    const signature = by.sign(artifact, { ...value, i });
    expect(deferred.verifier.verify(signer.publicKey, artifact, { ...value, i }, signature)).toBe(true);
  }
  return deferred;
};

describe("a deferred verifier", () => {
  for (const artifact of ["action-vote", "reanchor-statement"]) {
    verifies("HIS-118", `finds one false ${artifact} among many, and only where it is`, async () => {
      for (const count of [1, 2, 100]) {
        expect(await asked(artifact, count).settle()).toBe(true);
        expect(await asked(artifact, count, other).settle()).toBe(false);
      }
    });

    verifies("HIS-118", `answers for what was asked of it since the last time, ${artifact}`, async () => {
      const deferred = asked(artifact, 3, other);
      expect(await deferred.settle()).toBe(false);
      expect(await deferred.settle()).toBe(true);
      deferred.verifier.verify(signer.publicKey, artifact, value, other.sign(artifact, value));
      expect(await deferred.settle()).toBe(false);
    });
  }

  verifies("HIS-118", "takes a statement for known only with the same key, value and signature", async () => {
    const artifact = "reanchor-statement";
    const signature = signer.sign(artifact, value);
    const { verifier, settle } = DeferredVerifier.create();
    verifier.verify(signer.publicKey, artifact, value, signature);
    verifier.verify(signer.publicKey, artifact, value, signature);
    expect(await settle()).toBe(true);
    const lies = [
      [other.publicKey, value, signature],
      [signer.publicKey, { said: "otherwise" }, signature],
      [signer.publicKey, value, other.sign(artifact, value)],
    ] as const;
    for (const [key, stated, by] of [...lies, ...lies]) {
      verifier.verify(key, artifact, stated, by);
      expect(await settle()).toBe(false);
    }
  });
});
