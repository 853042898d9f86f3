import * as fc from "fast-check";
import { expect } from "vitest";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import { verifies } from "@social-harness/testkit/Verifies";

verifies("FND-20", "every byte string has one spelling that decodes, and it is the encoder's", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
      const text = Base64Url.encode(bytes);
      expect(Base64Url.decode(text)?.equals(bytes)).toBe(true);
    }),
  );
});

verifies("FND-20", "whatever text decodes is what its bytes encode to", () => {
  const character = fc.constantFrom(..."ABYZabyz0189-_+/= \t\n\u00e9\uff21");
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 12 }), (text) => {
      const bytes = Base64Url.decode(text);
      if (bytes !== null) expect(Base64Url.encode(bytes)).toBe(text);
    }),
    { numRuns: 2_000 },
  );
});

verifies(
  "FND-20",
  "padding, white space, the other alphabet, impossible lengths and stray bits are refused",
  () => {
    for (const text of [
      "AA==",
      "AA=",
      "AA ",
      " AA",
      "A\nA",
      "AA\n",
      "+AAA",
      "/AAA",
      "A",
      "AAAAA",
      "AB",
      "AAB",
      "AA\0A",
      "\uff21A",
    ]) {
      expect(Base64Url.decode(text), JSON.stringify(text)).toBeNull();
    }
    for (const text of ["", "AA", "AAA", "AAAA", "AQ", "AAE", "-_-_"]) {
      expect(Base64Url.decode(text), JSON.stringify(text)).not.toBeNull();
    }
  },
);

verifies("FND-20", "a length's pattern matches exactly what decodes to that many bytes", () => {
  const alphabet = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"];
  for (const byteCount of [16, 32, 64, 30]) {
    const pattern = Base64Url.patternOf(byteCount, "x_");
    const length = Math.ceil((byteCount * 8) / 6);
    for (const last of alphabet) {
      const body = "A".repeat(length - 1) + last;
      expect(pattern.test(`x_${body}`)).toBe(Base64Url.decode(body) !== null);
    }
    for (const body of ["A".repeat(length - 1), "A".repeat(length + 1), `${"A".repeat(length)}\n`]) {
      expect(pattern.test(`x_${body}`)).toBe(false);
    }
  }
});

verifies(
  "FND-22",
  "texts of one length compare as the bytes that they stand for, wherever these differ",
  () => {
    const pairs = fc.uint8Array({ minLength: 1, maxLength: 40 }).chain((bytes) =>
      fc.tuple(fc.constant(bytes), fc.nat(bytes.length - 1), fc.nat(7)).map(([left, at, bit]) => {
        const right = Uint8Array.from(left);
        right[at] = (right[at] as number) ^ (1 << bit);
        return [left, right] as const;
      }),
    );
    fc.assert(
      fc.property(pairs, ([left, right]) => {
        const texts = [Base64Url.encode(left), Base64Url.encode(right)] as const;
        expect(Base64Url.compareBytes(texts[0], texts[1])).toBe(Buffer.compare(left, right));
        expect(Base64Url.compareBytes(texts[0], texts[0])).toBe(0);
      }),
    );
  },
);
