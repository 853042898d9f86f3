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
];

const secret = "s3cret-value";
const rule = (when: object, more: object = { verdict: "hold" }) => ({ rules: [{ when, ...more }] });
const bad: ReadonlyArray<readonly [object, place: RegExp]> = [
  [[], /./],
  [{}, /^rules: /],
  [{ rules: [], [secret]: 1 }, /./],
  [{ rules: [], extra: secret }, /^extra: /],
  [{ rules: [], otherwise: secret }, /^otherwise: /],
  [{ rules: [], otherwise: "check" }, /expected a checker/],
  [rule({}), /^rules\.1\.when: expected at least one condition/],
  [rule({ from: [] }), /^rules\.1\.when\.from: /],
  [rule({ from: ["Bob Agent"] }), /^rules\.1\.when\.from\.1: /],
  [rule({ principal: [secret] }), /^rules\.1\.when\.principal\.1: /],
  [rule({ unknownSender: false }), /^rules\.1\.when\.unknownSender: /],
  [rule({ rate: { items: 1 } }), /^rules\.1\.when\.rate\.seconds: /],
  [rule({ rate: { items: 1.5, seconds: 1 } }), /^rules\.1\.when\.rate\.items: /],
  [rule({ text: "" }), /^rules\.1\.when\.text: /],
  [rule({ text: "x".repeat(1_025) }), /^rules\.1\.when\.text: /],
  [rule({ kind: ["operationFailed"] }), /^rules\.1\.when\.kind\.1: /],
  [rule({ bytesOver: 1 }, { verdict: "refuse" }), /^rules\.1\.verdict: /],
  [rule({ bytesOver: 1 }, { verdict: "check" }), /expected a checker/],
  [rule({ bytesOver: 1 }, { verdict: "allow", explanation: secret }), /^rules\.1: expected an explanation/],
  [rule({ bytesOver: 1 }, { verdict: "hold", guidance: secret }), /^rules\.1: expected an explanation/],
  [rule({ bytesOver: 1 }, { verdict: "allow", guidance: "x".repeat(4_097) }), /^rules\.1\.guidance: /],
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

verifies("ING-131", "a file of the closed shape is taken as it is", async () => {
  for (const file of good) {
    const parsed = RulesFile.parse(JSON.stringify(file));
    expect(parsed).toEqual(file);
    await Rules.compile(parsed, pace);
  }
});

verifies(["ING-131", "ING-246"], "anything else is refused by its place, and no value is repeated", () => {
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
});

verifies(
  "ING-136",
  "an expression that RE2 does not have, or that is too large, is named by its rule",
  async () => {
    const compile = (text: string) => Rules.compile(RulesFile.parse(JSON.stringify(rule({ text }))), pace);
    for (const text of ["(", "(?=a)", "(a)\\1", "a{1001}"]) {
      await expect(compile(text)).rejects.toThrow(
        /^rules\.1\.when\.text: expected a regular expression of RE2/,
      );
    }
    await expect(compile("(?:[a-z]{0,200}q){3}")).rejects.toThrow(/at most 500 instructions/);
    await expect(compile("(?i)\\bignore (all )?(previous|prior) instructions\\b")).resolves.toBeDefined();
  },
);
