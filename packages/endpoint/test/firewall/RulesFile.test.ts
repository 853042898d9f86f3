// The file of rules: what is taken, and what is said of everything else, by place and never by value.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Pace from "../../src/firewall/Pace.ts";
import * as Rules from "../../src/firewall/Rules.ts";
import * as RulesFile from "../../src/firewall/RulesFile.ts";

const pace = Pace.create(() => 0);
const principal = `prn_${"A".repeat(21)}A`;
const checker = { command: ["/usr/bin/true"] };

const good: ReadonlyArray<object> = [
  { rules: [] },
  { rules: [], otherwise: "hold", allowRelease: true },
  { rules: [{ when: { from: ["bob-agent"] }, verdict: "hold", explanation: "Not him." }] },
  { rules: [{ when: { principal: [principal] }, verdict: "allow", guidance: "Be brief." }] },
  { rules: [{ when: { unknownSender: true, rate: { items: 3, seconds: 60 } }, verdict: "hold" }] },
  { rules: [{ when: { bytesOver: 0, text: "(?i)x", kind: ["multicast"] }, verdict: "check" }], checker },
  { rules: [{ when: { conversation: "group" }, verdict: "allow" }], otherwise: "check", checker },
  { rules: [], checker: { url: "https://example.com/check?of=us", token: "t0ken" } },
  { rules: [], checker: { url: "http://127.0.0.1:8080/check" } },
  { rules: [], checker: { url: "http://[::1]:8080/" } },
  { checker },
  { checker, otherwise: "hold" },
  { otherwise: "hold" },
];

const secret = "s3cret-value";
const rule = (when: object, more: object = { verdict: "hold" }) => ({ rules: [{ when, ...more }] });
const bad: ReadonlyArray<readonly [object, place: RegExp]> = [
  [[], /./],
  [{}, /^expected rules, a checker, or both$/],
  [{ allowRelease: true }, /^expected rules, a checker, or both$/],
  [{ rules: {} }, /^rules: expected an array$/],
  [{ rules: [5] }, /^rule 1: expected an object$/],
  [{ rules: [], [secret]: 1 }, /./],
  [{ rules: [], extra: secret }, /^extra: /],
  [{ rules: [], otherwise: secret }, /^otherwise: /],
  [{ rules: [], otherwise: "check" }, /expected a checker/],
  [rule({}), /^rule 1, when: expected at least one condition/],
  [rule({ from: [] }), /^rule 1, when\.from: expected 1 to 1000 entries$/],
  [rule({ from: ["Bob Agent"] }), /^rule 1, when\.from, entry 1: /],
  [rule({ principal: [secret] }), /^rule 1, when\.principal, entry 1: /],
  [rule({ unknownSender: false }), /^rule 1, when\.unknownSender: /],
  [rule({ rate: { items: 1 } }), /^rule 1, when\.rate\.seconds: /],
  [rule({ rate: { items: 1.5, seconds: 1 } }), /^rule 1, when\.rate\.items: /],
  [rule({ text: "" }), /^rule 1, when\.text: expected an expression of 1 to 1024 characters$/],
  [rule({ text: "x".repeat(1_025) }), /^rule 1, when\.text: /],
  [rule({ kind: ["operationFailed"] }), /^rule 1, when\.kind, entry 1: expected "multicast"$/],
  [rule({ bytesOver: 1 }, { verdict: "refuse" }), /^rule 1, verdict: expected "allow", "hold" or "check"$/],
  [rule({ bytesOver: 1 }, { verdict: "check" }), /expected a checker/],
  [rule({ bytesOver: 1 }, { verdict: "allow", explanation: secret }), /^rule 1: expected an explanation/],
  [rule({ bytesOver: 1 }, { verdict: "hold", guidance: secret }), /^rule 1: expected an explanation/],
  [rule({ bytesOver: 1 }, { verdict: "allow", guidance: "x".repeat(4_097) }), /^rule 1, guidance: /],
  [{ rules: [], checker: { url: "http://127.0.0.1/", token: "a b" } }, /^checker\.token: expected a bearer/],
  [{ rules: [], checker: { command: ["/bin/true", "\0"] } }, /^checker\.command, entry 2: expected a text/],
  [{ rules: [], checker: {} }, /^checker: expected either a command, or a url/],
  [{ rules: [], checker: { ...checker, url: "https://example.com/" } }, /^checker: expected either/],
  [{ rules: [], checker: { ...checker, token: secret } }, /^checker: expected either/],
  [{ rules: [], checker: { command: ["relative"] } }, /^checker\.command: .*absolute path/],
  [{ rules: [], checker: { command: [] } }, /^checker\.command: /],
  [{ rules: [], checker: { url: "http://example.com/" } }, /^checker\.url: expected an https/],
  [{ rules: [], checker: { url: "http://localhost:1/" } }, /^checker\.url: /],
  [{ rules: [], checker: { url: `https://${secret}@example.com/` } }, /^checker\.url: /],
  [{ rules: [], checker: { url: "ftp://127.0.0.1/" } }, /^checker\.url: /],
];

verifies(["ING-131", "ING-222"], "a file of the closed shape is taken as it is", () => {
  for (const file of good) {
    const parsed = RulesFile.parse(JSON.stringify(file));
    expect(parsed).toEqual(file);
    Rules.compile(parsed, pace);
  }
});

verifies(
  ["ING-131", "ING-222", "ING-246"],
  "anything else is refused by its place, and no value is repeated",
  () => {
    for (const [file, place] of bad) {
      let said = "";
      try {
        RulesFile.parse(JSON.stringify(file));
      } catch (error) {
        expect(error).toBeInstanceOf(RulesFile.RulesProblem);
        said = (error as Error).message;
      }
      expect([JSON.stringify(file).slice(0, 80), said]).toEqual([
        expect.any(String),
        expect.stringMatching(place),
      ]);
      expect(said).not.toContain("Bob Agent");
      if (!Object.hasOwn(file, secret)) expect(said).not.toContain(secret);
    }
    expect(() => RulesFile.parse("{")).toThrow("it is no JSON");
    const twice = '{"rules":[{"when":{"text":"x"},"verdict":"hold"}],"rules":[]}';
    expect(() => RulesFile.parse(twice)).toThrow("a name stands twice in one object");
  },
);

verifies(
  "ING-136",
  "an expression that RE2 does not have, or that is too large, is named by its rule",
  () => {
    const parse = (text: string) => RulesFile.parse(JSON.stringify(rule({ text })));
    for (const text of ["(", "(?=a)", "(a)\\1", "a{1001}"]) {
      expect(() => parse(text)).toThrow(/^rule 1, when\.text: expected a regular expression of RE2/);
    }
    expect(() => parse("(?:[a-z]{0,200}q){3}")).toThrow(/at most 500 instructions/);
    expect(parse("(?i)\\bignore (all )?(previous|prior) instructions\\b")).toBeDefined();
  },
);

verifies("ING-221", "all that is off is said at once, each in its place and in words of one kind", () => {
  const said = (file: object): ReadonlyArray<string> => {
    try {
      RulesFile.parse(JSON.stringify(file));
    } catch (error) {
      return (error as Error).message.split("; ");
    }
    return [];
  };
  const places = said({
    x: 1,
    rules: [
      { when: { rate: { items: -1, seconds: 1.5 }, kind: "multicast" }, verdict: "hold" },
      { when: { text: "(", from: ["bob-agent", "Bob"] }, verdict: "maybe" },
    ],
    otherwise: 1,
    checker: { command: "x" },
  });
  expect(places).toEqual([
    "x: is not expected here: leave it out",
    "rule 1, when.rate.items: expected a value between 0 and 1000",
    "rule 1, when.rate.seconds: expected a whole number",
    "rule 1, when.kind: expected an array",
    expect.stringMatching(/^rule 2, when\.from, entry 2: /),
    expect.stringMatching(/^rule 2, when\.text: expected a regular expression of RE2/),
    'rule 2, verdict: expected "allow", "hold" or "check"',
    'otherwise: expected "allow", "hold" or "check"',
    "and 1 more",
  ]);
  for (const place of places) expect(place).not.toMatch(/Expected/);
});
