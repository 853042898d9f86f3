import * as Schema from "effect/Schema";
import * as Diagnosis from "@social-harness/protocol/encoding/Diagnosis";
import * as fc from "fast-check";
import { expect, test } from "vitest";

const shape = Schema.Struct({
  name: Schema.String.check(Schema.isMaxLength(3)),
  count: Schema.optionalKey(Schema.Int),
  inner: Schema.optionalKey(Schema.Struct({ flag: Schema.Boolean })),
});
const diagnose = Diagnosis.decoder(shape);
const issuesOf = (value: unknown) => {
  const diagnosis = diagnose(value);
  return diagnosis.ok ? [] : diagnosis.issues;
};

test("a fitting value is decoded", () => {
  expect(diagnose({ name: "abc", inner: { flag: true } })).toEqual({
    ok: true,
    value: { name: "abc", inner: { flag: true } },
  });
});

test("every place that is off is named", () => {
  expect(issuesOf({ count: "1", inner: { flag: 1, more: 2 } }).map(({ path }) => path)).toEqual([
    ["name"],
    ["count"],
    ["inner", "more"],
    ["inner", "flag"],
  ]);
});

test("what is expected is said in plain words, whatever the library's own are", () => {
  const kinds = Diagnosis.decoder(
    Schema.Struct({
      text: Schema.String,
      whole: Schema.Int,
      list: Schema.Array(Schema.String),
      flag: Schema.Boolean,
      inner: Schema.Struct({ a: Schema.String }),
      one: Schema.Literals(["a", "b", "c"]),
      maybe: Schema.NullOr(Schema.Number),
      some: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
      more: Schema.optionalKey(Schema.String),
    }),
  );
  const off = { text: 1, whole: 0.5, list: {}, flag: 1, inner: [], one: "d", maybe: "x", some: 10, extra: 1 };
  const diagnosis = kinds(off);
  const said = diagnosis.ok ? [] : diagnosis.issues.map(({ path, message }) => [path.join("."), message]);
  expect(Object.fromEntries(said)).toEqual({
    text: "expected a string",
    whole: "expected a whole number",
    list: "expected an array",
    flag: "expected true or false",
    inner: "expected an object",
    one: 'expected "a", "b" or "c"',
    maybe: "expected a number or null",
    some: "expected a value between 1 and 9",
    extra: "is not expected here: leave it out",
  });
});

test("C75: a million elements or members are refused quickly with at most 20 issues", () => {
  const crowd: Record<string, unknown> = {};
  for (let i = 0; i < 300_000; i++) crowd[`k${i}`] = i;
  const crowds: ReadonlyArray<unknown> = [
    new Array<number>(1_000_000).fill(0),
    { name: new Array<number>(1_000_000).fill(0) },
    crowd,
    { name: "abc", inner: crowd },
  ];
  for (const value of crowds) {
    const issues = issuesOf(value);
    expect(issues.length).toBeGreaterThan(0);
    expect(issues.length).toBeLessThanOrEqual(20);
  }
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, i]));
  expect(issuesOf(many)).toHaveLength(20);
});

test("no issue repeats a submitted value, nor a name that is not a short plain word", () => {
  const secret = "whsec_do-not-repeat-me/1";
  const hostile = fc.object({
    key: fc.constantFrom("name", "count", "inner", "flag", secret, "x".repeat(100)),
    values: [fc.constant(secret), fc.constant(31_337_001)],
  });
  fc.assert(
    fc.property(hostile, (value) => {
      const text = JSON.stringify(issuesOf(value));
      expect(text).not.toContain(secret);
      expect(text).not.toContain("31337001");
      expect(text).not.toContain("x".repeat(65));
    }),
  );
});
