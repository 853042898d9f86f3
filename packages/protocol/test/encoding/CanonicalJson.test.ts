import canonicalize from "canonicalize";
import * as fc from "fast-check";
import { describe, expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Limits from "@social-harness/protocol/Limits";
import { verifies } from "@social-harness/testkit/Verifies";
import * as VectorFiles from "./VectorFiles.ts";

interface Input extends CanonicalJson.Bounds {
  readonly name: string;
  readonly hex: string;
}

const vectors = VectorFiles.json<{
  readonly accepted: ReadonlyArray<Input>;
  readonly refused: ReadonlyArray<Input & { readonly reason: string }>;
  readonly numbers: ReadonlyArray<{ readonly ieee754: string; readonly text: string | null }>;
  readonly encodings: ReadonlyArray<{ readonly value: CanonicalJson.Json; readonly hex: string }>;
}>("canonical_json.json");

const bounds = { bytesMax: 65_536, depthMax: Limits.jsonDepthMax };
const decodeText = (text: string, within: CanonicalJson.Bounds = bounds): CanonicalJson.Json =>
  CanonicalJson.decodeBytes(Buffer.from(text, "utf8"), within);

/** The reason of a refusal; anything but the typed error fails the test. */
const reasonOf = (decode: () => unknown): string => {
  try {
    decode();
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return (error as DecodeError).reason;
  }
  return "accepted";
};

const wellFormed = fc.string({ unit: "binary", maxLength: 12 }).filter((text) => text.isWellFormed());
const jsonValue = fc.jsonValue({ stringUnit: "binary", maxDepth: 5 }).filter((value) => {
  // fast-check may split a pair over two units; a lone surrogate has no canonical form and has its own tests.
  return JSON.stringify(value).isWellFormed() && !/\\ud[89a-f]/.test(JSON.stringify(value));
}) as fc.Arbitrary<CanonicalJson.Json>;

verifies("FND-01", "C68: every accepted vector decodes and re-encodes to the same bytes", () => {
  for (const { name, hex, ...within } of vectors.accepted) {
    const bytes = VectorFiles.hex(hex);
    expect(CanonicalJson.encodeBytes(CanonicalJson.decodeBytes(bytes, within)).equals(bytes), name).toBe(
      true,
    );
  }
});

verifies(
  ["FND-01", "FND-04"],
  "C68: every refused vector is refused for the stated reason, and no other way",
  () => {
    for (const { name, hex, reason, ...within } of vectors.refused) {
      expect(
        reasonOf(() => CanonicalJson.decodeBytes(VectorFiles.hex(hex), within)),
        name,
      ).toBe(reason);
    }
  },
);

verifies(
  "FND-02",
  "numbers are spelled as RFC 8785 spells their bits, and what JSON cannot hold is refused",
  () => {
    const view = new DataView(new ArrayBuffer(8));
    for (const { ieee754, text } of vectors.numbers) {
      view.setBigUint64(0, BigInt(`0x${ieee754}`));
      if (text === null)
        expect(
          reasonOf(() => CanonicalJson.encode(view.getFloat64(0))),
          ieee754,
        ).toBe("schema");
      else expect(CanonicalJson.encode(view.getFloat64(0)), ieee754).toBe(text);
    }
  },
);

verifies("FND-02", "values written out of order encode to the stated bytes", () => {
  for (const { value, hex } of vectors.encodings) {
    expect(CanonicalJson.encodeBytes(value).toString("hex")).toBe(hex);
  }
});

verifies("FND-02", "the encoder agrees with the reference implementation on every value", () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      expect(CanonicalJson.encode(value)).toBe(canonicalize(value));
    }),
    { numRuns: 2_000 },
  );
});

verifies("FND-02", "the encoder agrees with the reference implementation on every double", () => {
  fc.assert(
    fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), (value) => {
      expect(CanonicalJson.encode(value)).toBe(canonicalize(value));
    }),
    { numRuns: 5_000 },
  );
});

verifies("FND-02", "member names sort by UTF-16 code units, which is not code point order", () => {
  fc.assert(
    fc.property(fc.uniqueArray(wellFormed, { maxLength: 8 }), (names) => {
      const encoded = CanonicalJson.encode(Object.fromEntries(names.map((name) => [name, 0])));
      expect(encoded).toBe(canonicalize(Object.fromEntries(names.toReversed().map((name) => [name, 0]))));
    }),
    { numRuns: 1_000 },
  );
  expect(CanonicalJson.encode({ "\ufb33": 1, "\u{1f600}": 2 })).toBe('{"\u{1f600}":2,"\ufb33":1}');
});

verifies("FND-01", "what is encoded decodes to an equal value", () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      const bytes = CanonicalJson.encodeBytes(value);
      const decoded = CanonicalJson.decodeBytes(bytes, { bytesMax: bytes.byteLength, depthMax: 64 });
      expect(CanonicalJson.encodeBytes(decoded).equals(bytes)).toBe(true);
      expect(CanonicalJson.byteLength(value)).toBe(bytes.byteLength);
    }),
    { numRuns: 1_000 },
  );
});

verifies("FND-02", "C68: a lone surrogate anywhere is refused, by the encoder too", () => {
  for (const value of [
    "\ud800",
    "a\udc00",
    "\udc00\ud800",
    ["\ud800"],
    { "\udfff": 1 },
    { a: [{ b: "\udbff" }] },
  ]) {
    expect(reasonOf(() => CanonicalJson.encode(value))).toBe("lone-surrogate");
  }
  expect(CanonicalJson.encode("\ud83d\ude00")).toBe('"\u{1f600}"');
});

verifies("FND-02", "what is not JSON is never encoded", () => {
  const odd: ReadonlyArray<unknown> = [
    undefined,
    [undefined],
    { a: undefined },
    NaN,
    Infinity,
    1n,
    Symbol("a"),
    () => 0,
  ];
  for (const value of odd)
    expect(reasonOf(() => CanonicalJson.encode(value as CanonicalJson.Json))).toBe("schema");
});

verifies(
  ["FND-01", "FND-40"],
  "bytes at the limit are taken and one past is refused, before anything is parsed",
  () => {
    for (const bytesMax of [Limits.agentCardBytesMax, Limits.contentBytesMax, Limits.packetBytesMax]) {
      const within = { bytesMax, depthMax: Limits.jsonDepthMax };
      const full = JSON.stringify("x".repeat(bytesMax - 2));
      expect(decodeText(full, within)).toBe("x".repeat(bytesMax - 2));
      expect(reasonOf(() => decodeText(JSON.stringify("x".repeat(bytesMax - 1)), within))).toBe("too-large");
      expect(reasonOf(() => CanonicalJson.decodeBytes(Buffer.alloc(bytesMax + 1, 0xff), within))).toBe(
        "too-large",
      );
      expect(reasonOf(() => CanonicalJson.decodeText(JSON.stringify("x".repeat(bytesMax - 1)), within))).toBe(
        "too-large",
      );
    }
  },
);

verifies(["FND-01", "FND-40"], "depth at each boundary's limit is taken and one past is refused", () => {
  for (const depthMax of [Limits.contentDepthMax, Limits.jsonDepthMax]) {
    const within = { bytesMax: 65_536, depthMax };
    const arrays = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    const objects = (depth: number): string => '{"a":'.repeat(depth - 1) + "{}" + "}".repeat(depth - 1);
    for (const nested of [arrays, objects]) {
      expect(CanonicalJson.encode(decodeText(nested(depthMax), within))).toBe(nested(depthMax));
      expect(reasonOf(() => decodeText(nested(depthMax + 1), within))).toBe("too-deep");
      expect(reasonOf(() => CanonicalJson.encode(JSON.parse(nested(depthMax + 1)), depthMax))).toBe(
        "too-deep",
      );
    }
  }
});

verifies(
  "FND-05",
  "C75: nesting of ten thousand and of a million containers is refused without exhausting the stack",
  () => {
    for (const depth of [10_000, 1_000_000]) {
      const within = { bytesMax: 16_000_000, depthMax: Limits.jsonDepthMax };
      expect(reasonOf(() => decodeText("[".repeat(depth) + "]".repeat(depth), within))).toBe("too-deep");
      expect(reasonOf(() => decodeText('{"a":'.repeat(depth) + "0" + "}".repeat(depth), within))).toBe(
        "too-deep",
      );
      expect(reasonOf(() => decodeText("[".repeat(depth), within))).toBe("not-json");
    }
  },
);

verifies("FND-01", "a member called __proto__ is data, and changes no prototype", () => {
  const text = '{"__proto__":{"polluted":true}}';
  const value = decodeText(text) as { readonly [name: string]: CanonicalJson.Json };
  expect(Object.keys(value)).toEqual(["__proto__"]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(({} as { readonly polluted?: boolean }).polluted).toBeUndefined();
  expect(CanonicalJson.encode(value)).toBe(text);
});

verifies("FND-01", "nothing is normalised: composed and decomposed spellings stay apart", () => {
  for (const text of ['"\u00e9"', '"e\u0301"', '"\ufb01"', '"\u212b"', '"\u1e9b\u0323"']) {
    expect(CanonicalJson.encode(decodeText(text))).toBe(text);
  }
  expect(decodeText('"\u00e9"')).not.toBe(decodeText('"e\u0301"'));
});

verifies("FND-04", "a refusal never shows the submitted value", () => {
  for (const text of ['{"secret":1,"secret":2}', '"secret', '"secret\\ud800"', `"secret${"x".repeat(99)}"`]) {
    try {
      decodeText(text, { bytesMax: 64, depthMax: 2 });
      expect.unreachable();
    } catch (error) {
      expect(String(error) + JSON.stringify(error)).not.toContain("secret");
    }
  }
});

verifies(
  ["FND-01", "FND-04"],
  "mutated canonical bytes are refused with the typed error or are canonical themselves",
  () => {
    const mutation = fc.record({
      at: fc.nat(),
      byte: fc.integer({ min: 0, max: 255 }),
      kind: fc.constantFrom("set", "insert", "delete", "cut"),
    });
    fc.assert(
      fc.property(jsonValue, fc.array(mutation, { minLength: 1, maxLength: 3 }), (value, mutations) => {
        let bytes = CanonicalJson.encodeBytes(value);
        for (const { at, byte, kind } of mutations) {
          const i = at % (bytes.byteLength + 1);
          const rest = bytes.subarray(kind === "insert" ? i : i + 1);
          const middle = kind === "set" || kind === "insert" ? Buffer.from([byte]) : Buffer.alloc(0);
          bytes = kind === "cut" ? bytes.subarray(0, i) : Buffer.concat([bytes.subarray(0, i), middle, rest]);
        }
        const outcome = reasonOf(() => {
          const decoded = CanonicalJson.decodeBytes(bytes, bounds);
          expect(CanonicalJson.encodeBytes(decoded).equals(bytes)).toBe(true);
          expect(canonicalize(decoded)).toBe(bytes.toString("utf8"));
        });
        expect(outcome).toBeTypeOf("string");
      }),
      { numRuns: 3_000 },
    );
  },
);

describe.skipIf(VectorFiles.publishedAbsent)(VectorFiles.publishedNote, () => {
  verifies("FND-02", "the RFC author's vectors encode to the published bytes", () => {
    for (const name of ["arrays", "french", "structures", "unicode", "values", "weird"]) {
      const input = JSON.parse(
        VectorFiles.published("jcs", "input", `${name}.json`).toString("utf8"),
      ) as CanonicalJson.Json;
      const output = VectorFiles.published("jcs", "output", `${name}.json`);
      expect(CanonicalJson.encodeBytes(input).equals(output), name).toBe(true);
      expect(CanonicalJson.encodeBytes(CanonicalJson.decodeBytes(output, bounds)).equals(output), name).toBe(
        true,
      );
    }
  });
});
