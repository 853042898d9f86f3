import * as fc from "fast-check";
import { expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Content from "@social-harness/protocol/history/Content";
import * as Limits from "@social-harness/protocol/Limits";
import { verifies } from "@social-harness/testkit/Verifies";

const decode = Closed.decoder(Content.schema);
const isTaken = (value: unknown): boolean => {
  try {
    decode(value);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return false;
  }
};
const ofBytes = (bytes: number): Content.Content => {
  const frame = CanonicalJson.byteLength(Content.ofText(""));
  return Content.ofText("x".repeat(bytes - frame));
};
const nested = (depth: number): CanonicalJson.Json => JSON.parse("[".repeat(depth) + "]".repeat(depth));

verifies("HIS-04", "text and data parts in any number and order are content, and nothing else is", () => {
  const good: ReadonlyArray<unknown> = [
    [{ type: "text", text: "" }],
    [{ type: "data", value: null }],
    [
      { type: "data", value: 1.5 },
      { type: "text", text: "a" },
      { type: "data", value: { a: [1e300, -2.5] } },
    ],
    [{ type: "data", value: JSON.parse('{"__proto__":{"type":"text"}}') }],
  ];
  for (const value of good) expect(isTaken(value)).toBe(true);
  const bad: ReadonlyArray<unknown> = [
    [],
    null,
    {},
    "text",
    [{ type: "text" }],
    [{ type: "text", text: 1 }],
    [{ type: "text", text: "a", value: null }],
    [{ type: "data" }],
    [{ type: "data", value: undefined }],
    [{ type: "data", value: Number.NaN }],
    [{ type: "data", value: 10n }],
    [{ type: "data", value: new Date(0) }],
    [{ type: "image", data: "" }],
    [{ type: "text", text: "a" }, null],
    JSON.parse('[{"type":"text","text":"a","__proto__":1}]'),
  ];
  for (const value of bad) expect(isTaken(value)).toBe(false);
});

verifies(
  ["HIS-04", "FND-40"],
  "C75: content of 0 and 1 bytes of text, 255 KiB and exactly the limit is taken, one byte past is not",
  () => {
    for (const text of ["", "a"]) expect(isTaken(Content.ofText(text))).toBe(true);
    for (const bytes of [255 * 1_024, Limits.contentBytesMax]) {
      const content = ofBytes(bytes);
      expect(CanonicalJson.byteLength(content)).toBe(bytes);
      expect(isTaken(content)).toBe(true);
    }
    expect(isTaken(ofBytes(Limits.contentBytesMax + 1))).toBe(false);
    expect(isTaken(Content.ofText("x".repeat(2 * 1_024 * 1_024)))).toBe(false);
  },
);

verifies(
  ["HIS-04", "FND-40"],
  "bytes are counted in canonical form: escapes and multi-byte characters in full",
  () => {
    const frame = CanonicalJson.byteLength(Content.ofText(""));
    const room = Limits.contentBytesMax - frame;
    for (const [unit, bytes] of [
      ["\u0000", 6],
      ["\n", 2],
      ["\u05d0", 2],
      ["\u{1f600}", 4],
    ] as const) {
      const full = unit.repeat(Math.floor(room / bytes)) + "x".repeat(room % bytes);
      expect(CanonicalJson.byteLength(Content.ofText(full))).toBe(Limits.contentBytesMax);
      expect(isTaken(Content.ofText(full)), JSON.stringify(unit)).toBe(true);
      expect(isTaken(Content.ofText(`${full}x`)), JSON.stringify(unit)).toBe(false);
    }
  },
);

verifies(
  ["HIS-04", "FND-40", "FND-05"],
  "C75: depth at the limit is taken; one past, ten thousand and a hundred thousand are not",
  () => {
    // The content list and its part are the first two containers.
    expect(isTaken([{ type: "data", value: nested(Limits.contentDepthMax - 2) }])).toBe(true);
    for (const depth of [Limits.contentDepthMax - 1, 10_000, 100_000]) {
      expect(isTaken([{ type: "data", value: nested(depth) }]), `${depth}`).toBe(false);
    }
  },
);

verifies(
  ["HIS-04", "FND-02"],
  "C68: a lone surrogate in text, in data or in a name of data is no content",
  () => {
    expect(isTaken(Content.ofText("a\ud83d"))).toBe(false);
    expect(isTaken(Content.ofText("\ud83d\ude00"))).toBe(true);
    expect(isTaken([{ type: "data", value: ["\udc00"] }])).toBe(false);
    expect(isTaken([{ type: "data", value: { "\ud800": 1 } }])).toBe(false);
  },
);

verifies(
  ["HIS-04", "FND-04"],
  "any value is content that re-encodes to itself, or is refused with the typed error",
  () => {
    const part = fc.oneof(
      fc.record({ type: fc.constant("text"), text: fc.string({ unit: "binary" }) }),
      fc.record({ type: fc.constant("data"), value: fc.anything() }),
      fc.anything(),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 3 }), (value) => {
        if (!isTaken(value)) return;
        const bytes = CanonicalJson.encodeBytes(decode(value));
        const bounds = { bytesMax: Limits.contentBytesMax, depthMax: Limits.contentDepthMax };
        expect(CanonicalJson.encodeBytes(CanonicalJson.decodeBytes(bytes, bounds)).equals(bytes)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  },
);
