// Canonical JSON: byte strings that the boundary decoder takes and refuses, numbers by their IEEE 754 bits, and values
// whose members are written here out of order beside their canonical bytes. Bytes travel as hex, so no editor mends them.

import { type Files, hexOf, json } from "./Family.ts";

const bounds = { bytesMax: 65_536, depthMax: 24 };
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
const nestedObjects = (depth: number): string => '{"a":'.repeat(depth - 1) + "{}" + "}".repeat(depth - 1);

const accepted: ReadonlyArray<readonly [name: string, text: string, bounds?: typeof bounds]> = [
  ["null", "null"],
  ["a bare string", '"a"'],
  ["a bare number", "0"],
  ["an empty object", "{}"],
  ["an empty array", "[]"],
  ["members in order", '{"":0,"A":1,"a":2,"aa":3}'],
  ["a proto member is an ordinary member", '{"__proto__":{"polluted":true},"constructor":1}'],
  ["members beyond the basic plane sort by UTF-16 code units", '{"\u{1f600}":1,"\ufb33":2}'],
  ["composed and decomposed names differ", '{"e\u0301":1,"\u00e9":2}'],
  ["the seven short escapes", '"\\b\\t\\n\\f\\r\\"\\\\"'],
  ["other control characters in lower case hex", '"\\u0000\\u001b\\u001f"'],
  ["delete and line separators stand raw", '"\u007f\u0080\u2028\u2029"'],
  ["a noncharacter and a byte-order mark inside a string stand raw", '"\uffff\ufeff"'],
  ["right-to-left and emoji stand raw", '"\u05e9\u05dc\u05d5\u05dd \u{1f468}\u200d\u{1f469}\u200d\u{1f467}"'],
  ["largest safe integer", "9007199254740991"],
  ["smallest exponent spelling", "1e+21"],
  ["largest plain spelling", "100000000000000000000"],
  ["small exponent spelling", "1e-7"],
  ["smallest plain fraction", "0.000001"],
  ["largest double", "1.7976931348623157e+308"],
  ["smallest double", "5e-324"],
  ["arrays at the depth limit", nested(24)],
  ["objects at the depth limit", nestedObjects(24)],
  ["arrays at the depth limit of a content value", nested(10), { bytesMax: 65_536, depthMax: 10 }],
  ["bytes at the limit", '"abcdef"', { bytesMax: 8, depthMax: 24 }],
  ["bytes at the limit, two a character", '"\u00e9\u00e9\u00e9"', { bytesMax: 8, depthMax: 24 }],
];

/** Refused texts with the reason this project's decoder gives; another implementation owes the refusal only. */
const refused: ReadonlyArray<readonly [name: string, reason: string, text: string, bounds?: typeof bounds]> =
  [
    ["nothing", "not-json", ""],
    ["duplicate names", "not-canonical", '{"a":1,"a":1}'],
    ["duplicate names with different values", "not-canonical", '{"a":1,"a":2}'],
    ["duplicate names, one of them escaped", "not-canonical", '{"a":1,"\\u0061":2}'],
    ["duplicate proto members", "not-canonical", '{"__proto__":1,"__proto__":2}'],
    ["members out of order", "not-canonical", '{"b":1,"a":2}'],
    ["members out of order below the root", "not-canonical", '[{"a":{"c":1,"b":2}}]'],
    ["members beyond the basic plane in code point order", "not-canonical", '{"\ufb33":2,"\u{1f600}":1}'],
    ["negative zero", "not-canonical", "-0"],
    ["negative zero in an array", "not-canonical", "[-0]"],
    ["negative zero with a fraction", "not-canonical", "-0.0"],
    ["1e21 without its sign", "not-canonical", "1e21"],
    ["capital exponent", "not-canonical", "1E+21"],
    ["a plain spelling from 1e21 on", "not-canonical", "1000000000000000000000"],
    ["an exponent where the plain spelling is due", "not-canonical", "1e+20"],
    ["a plain fraction where the exponent is due", "not-canonical", "0.0000001"],
    ["an exponent where the plain fraction is due", "not-canonical", "1e-6"],
    ["a needless fraction", "not-canonical", "1.0"],
    ["a trailing zero", "not-canonical", "0.50"],
    ["an exponent of zero", "not-canonical", "0e0"],
    ["an integer that no double holds", "not-canonical", "9007199254740993"],
    ["more digits than the double needs", "not-canonical", "0.1000000000000000055511151231257827"],
    ["a subnormal in another spelling", "not-canonical", "4.9e-324"],
    ["a number that underflows", "not-canonical", "1e-400"],
    ["a number that overflows", "schema", "1e400"],
    ["a leading zero", "not-json", "01"],
    ["a leading plus", "not-json", "+1"],
    ["a bare fraction", "not-json", ".5"],
    ["a bare point", "not-json", "1."],
    ["hexadecimal", "not-json", "0x1"],
    ["not a number", "not-json", "NaN"],
    ["infinity", "not-json", "-Infinity"],
    ["a byte-order mark", "not-json", "\ufeff{}"],
    ["a leading space", "not-canonical", " {}"],
    ["a trailing space", "not-canonical", "{} "],
    ["a trailing line feed", "not-canonical", "{}\n"],
    ["a space between tokens", "not-canonical", '{"a": 1}'],
    ["a tab between tokens", "not-canonical", "[1,\t2]"],
    ["a no-break space around", "not-json", "\u00a0{}"],
    ["trailing data", "not-json", "{}{}"],
    ["a trailing NUL", "not-json", "{}\0"],
    ["a trailing comma", "not-json", "[1,]"],
    ["a comment", "not-json", "[1/**/]"],
    ["a single-quoted string", "not-json", "'a'"],
    ["a bare name", "not-json", "{a:1}"],
    ["a capital literal", "not-json", "True"],
    ["an unclosed array", "not-json", "[1"],
    ["a raw control character", "not-json", '"\u0001"'],
    ["a raw line feed in a string", "not-json", '"\n"'],
    ["a needless escape of a letter", "not-canonical", '"\\u0061"'],
    ["a needless escape of a slash", "not-canonical", '"\\/"'],
    ["a needless escape of a non-ASCII letter", "not-canonical", '"\\u00e9"'],
    ["a needless escape of a line separator", "not-canonical", '"\\u2028"'],
    ["a needless escape of a surrogate pair", "not-canonical", '"\\ud83d\\ude00"'],
    ["a long escape where a short one is due", "not-canonical", '"\\u000a"'],
    ["a capital hex digit", "not-canonical", '"\\u001F"'],
    ["an unknown escape", "not-json", '"\\x41"'],
    ["a lone high surrogate", "lone-surrogate", '"\\ud800"'],
    ["a lone low surrogate", "lone-surrogate", '"\\udc00"'],
    ["a surrogate pair the wrong way round", "lone-surrogate", '"\\udc00\\ud800"'],
    ["a lone surrogate in a member name", "lone-surrogate", '{"\\ud800":1}'],
    ["a lone surrogate deep inside", "lone-surrogate", '[[{"a":["\\udfff"]}]]'],
    ["arrays one past the depth limit", "too-deep", nested(25)],
    ["objects one past the depth limit", "too-deep", nestedObjects(25)],
    [
      "one past the depth limit of a content value",
      "too-deep",
      nested(11),
      { bytesMax: 65_536, depthMax: 10 },
    ],
    ["a root container where none is allowed", "too-deep", "[]", { bytesMax: 65_536, depthMax: 0 }],
    ["ten thousand nested arrays", "too-deep", nested(10_000)],
    ["bytes one past the limit", "too-large", '"abcdefg"', { bytesMax: 8, depthMax: 24 }],
    [
      "bytes past the limit though characters are not",
      "too-large",
      '"\u00e9\u00e9\u00e9\u00e9"',
      { bytesMax: 8, depthMax: 24 },
    ],
  ];

const notUtf8: ReadonlyArray<readonly [name: string, hex: string]> = [
  ["a byte that UTF-8 never uses", "22ff22"],
  ["a bare continuation byte", "228022"],
  ["a sequence cut short", "22f09f9822"],
  ["an overlong slash", "22c0af22"],
  ["an overlong NUL", "22c08022"],
  ["a surrogate in UTF-8 clothes", "22eda08022"],
  ["a surrogate pair in UTF-8 clothes", "22eda0bdedb88022"],
  ["beyond the last code point", "22f490808022"],
  ["UTF-16, little-endian, with mark", "fffe7b007d00"],
  ["a Latin-1 letter", "22e922"],
];

/** RFC 8785, appendix B, and neighbours of the places where the spelling changes. */
const numbers = [
  ["0000000000000000", "0"],
  ["8000000000000000", "0"],
  ["0000000000000001", "5e-324"],
  ["8000000000000001", "-5e-324"],
  ["7fefffffffffffff", "1.7976931348623157e+308"],
  ["ffefffffffffffff", "-1.7976931348623157e+308"],
  ["4340000000000000", "9007199254740992"],
  ["c340000000000000", "-9007199254740992"],
  ["4430000000000000", "295147905179352830000"],
  ["44b52d02c7e14af5", "9.999999999999997e+22"],
  ["44b52d02c7e14af6", "1e+23"],
  ["44b52d02c7e14af7", "1.0000000000000001e+23"],
  ["444b1ae4d6e2ef4e", "999999999999999700000"],
  ["444b1ae4d6e2ef4f", "999999999999999900000"],
  ["444b1ae4d6e2ef50", "1e+21"],
  ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
  ["3eb0c6f7a0b5ed8d", "0.000001"],
  ["41b3de4355555553", "333333333.3333332"],
  ["41b3de4355555554", "333333333.33333325"],
  ["41b3de4355555555", "333333333.3333333"],
  ["41b3de4355555556", "333333333.3333334"],
  ["41b3de4355555557", "333333333.33333343"],
  ["becbf647612f3696", "-0.0000033333333333333333"],
  ["43143ff3c1cb0959", "1424953923781206.2"],
  ["4024000000000000", "10"],
  ["3fe0000000000000", "0.5"],
  ["3fb999999999999a", "0.1"],
  ["7ff0000000000000", null],
  ["7fffffffffffffff", null],
] as const;

const encodings: ReadonlyArray<{ readonly value: unknown; readonly text: string }> = [
  {
    value: { b: [true, false, null], a: { z: "", y: [] } },
    text: '{"a":{"y":[],"z":""},"b":[true,false,null]}',
  },
  {
    value: { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, "\u00f6": 7 },
    text: '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}',
  },
  {
    value: { n: [1e21, 1e-7, 0.000001, 123456789012345680000, -1.5, 4.5e15] },
    text: '{"n":[1e+21,1e-7,0.000001,123456789012345680000,-1.5,4500000000000000]}',
  },
  {
    value: '\u0000\u001f\b\t\n\f\r"\\/\u007f\u2028',
    text: '"\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\/\u007f\u2028"',
  },
];

export const files = (): Files =>
  new Map([
    [
      "canonical_json.json",
      json({
        about:
          "`accepted` and `refused` are whole inputs of the boundary decoder under the bounds beside them. `numbers` are " +
          "IEEE 754 bits, big-endian, and their canonical text, null where JSON has none. `encodings` are values and their canonical bytes.",
        accepted: accepted.map(([name, text, limits = bounds]) => ({ name, hex: hexOf(text), ...limits })),
        refused: [
          ...refused.map(([name, reason, text, limits = bounds]) => ({
            name,
            reason,
            hex: hexOf(text),
            ...limits,
          })),
          ...notUtf8.map(([name, hex]) => ({ name, reason: "not-utf8", hex, ...bounds })),
        ],
        numbers: numbers.map(([ieee754, text]) => ({ ieee754, text })),
        encodings: encodings.map(({ value, text }) => ({ value, hex: hexOf(text) })),
      }),
    ],
  ]);
