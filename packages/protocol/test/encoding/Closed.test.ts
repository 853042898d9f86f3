import * as fc from "fast-check";
import * as Schema from "effect/Schema";
import { expect } from "vitest";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { verifies } from "@social-harness/testkit/Verifies";

const shape = Schema.Struct({
  kind: Schema.Literal("example"),
  count: Schema.Int,
  inner: Schema.NullOr(Schema.Struct({ text: Schema.String })),
});
const decode = Closed.decoder(shape);
const decodeBytes = Closed.bytesDecoder(shape, { bytesMax: 256, depthMax: 2 });
const good = { kind: "example", count: 1, inner: { text: "a" } };

const reasonOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return (error as DecodeError).reason;
  }
  return "accepted";
};

verifies("FND-03", "the exact shape decodes, from a value and from canonical bytes", () => {
  expect(decode(good)).toEqual(good);
  expect(decodeBytes(Buffer.from('{"count":1,"inner":{"text":"a"},"kind":"example"}'))).toEqual(good);
});

verifies(
  "FND-03",
  "a missing and an excess field are errors at every level, and so is a field set to undefined",
  () => {
    const bad: ReadonlyArray<unknown> = [
      {},
      { kind: "example", count: 1 },
      { ...good, more: 1 },
      { ...good, inner: {} },
      { ...good, inner: { text: "a", more: 1 } },
      { ...good, inner: undefined },
      JSON.parse('{"kind":"example","count":1,"inner":null,"__proto__":1}'),
      JSON.parse('{"kind":"example","count":1,"inner":null,"":1}'),
    ];
    for (const value of bad) expect(reasonOf(() => decode(value))).toBe("schema");
  },
);

verifies("FND-03", "nothing is coerced", () => {
  for (const count of ["1", 1.5, true, null, [1], 2 ** 53, Number.NaN]) {
    expect(reasonOf(() => decode({ ...good, count }))).toBe("schema");
  }
  for (const kind of ["Example", "example ", "example\0"])
    expect(reasonOf(() => decode({ ...good, kind }))).toBe("schema");
});

verifies("FND-04", "any value at all is decoded or refused with the typed error", () => {
  fc.assert(
    fc.property(
      fc.anything({ withBigInt: true, withSparseArray: true, withNullPrototype: true }),
      (value) => {
        expect(["schema", "accepted"]).toContain(reasonOf(() => decode(value)));
      },
    ),
    { numRuns: 2_000 },
  );
});

verifies(
  ["FND-04", "FND-05"],
  "C75: a list of a million items where an object is due is refused at once",
  () => {
    const huge = Array.from({ length: 1_000_000 }, (_, i) => i);
    expect(reasonOf(() => decode(huge))).toBe("schema");
    expect(reasonOf(() => decode({ ...good, inner: huge }))).toBe("schema");
  },
);
