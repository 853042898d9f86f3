// JSON by hand: what every reader reads alike is taken, all else is refused.

import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import { DecodeError } from "../../src/encoding/DecodeError.ts";
import * as StrictJson from "../../src/encoding/StrictJson.ts";

const reasonOf = (body: () => unknown): string => {
  try {
    return `taken: ${JSON.stringify(body())}`;
  } catch (error) {
    if (error instanceof DecodeError) return error.reason;
    throw error;
  }
};

verifies("ING-246", "a name that stands twice in one object is refused, however it is spelt", () => {
  for (const text of [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '[{"b":{"a":[],"x":":","a":{}}}]',
    '{"__proto__":1,"__proto__":2}',
    '{"":1,"":2}',
  ]) {
    expect([text, reasonOf(() => StrictJson.parse(text))]).toEqual([text, "repeated-name"]);
  }
  for (const text of ["", "{", "{'a':1}", "\ufeff{}", '{"a":1,}', "[".repeat(100_000)]) {
    expect(reasonOf(() => StrictJson.parse(text))).toBe("not-json");
  }
  for (const bytes of [Buffer.from('"\u00fc"', "latin1"), Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])]) {
    expect(reasonOf(() => StrictJson.parseBytes(bytes))).toBe("not-utf8");
  }
});

verifies("ING-246", "any other JSON is taken as it is, in any spelling", () => {
  for (const text of [
    '{"a":{"a":[{"a":":"},{"a":"\\":"}]}}',
    ' [ {"\\"" : "\\\\" , ":" : 1} ] ',
    '"{:}"',
    "0",
  ]) {
    expect(StrictJson.parse(text)).toEqual(JSON.parse(text));
  }
  expect(StrictJson.parse('{"a":1}'.padStart(200_000))).toEqual({ a: 1 });
  const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  expect(Array.isArray(StrictJson.parse(deep))).toBe(true);
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(undefined, 2), (text, indent) => {
      const value: unknown = JSON.parse(text);
      const spelt = JSON.stringify(value, null, indent);
      expect(StrictJson.parseBytes(Buffer.from(spelt))).toEqual(value);
    }),
  );
});
