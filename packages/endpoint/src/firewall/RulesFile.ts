// What an owner writes into `firewall.json`: its closed shape, and what is wrong with a file that has another one. Complaints
// name the place and what is expected there, never what stands there. Implements ING-131, ING-221 and ING-222.

import * as Schema from "effect/Schema";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Diagnosis from "@social-harness/protocol/encoding/Diagnosis";
import * as StrictJson from "@social-harness/protocol/encoding/StrictJson";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { PrincipalId } from "@social-harness/protocol/identity/Identifier";
import * as CheckerUrl from "./CheckerUrl.ts";
import * as Limits from "./Limits.ts";
import * as Patterns from "./Patterns.ts";

const boundedText = (bytesMax: number) =>
  Schema.String.check(
    Schema.makeFilter(
      (text: string) =>
        (text !== "" && Buffer.byteLength(text) <= bytesMax && !text.includes("\0")) ||
        `expected a text of 1 to ${bytesMax} bytes`,
    ),
  );

const wholeNumber = (minimum: number, maximum: number) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum }));

const someOf = <S extends Schema.Constraint>(one: S) =>
  Schema.Array(one).check(
    Schema.makeFilter(
      ({ length }: ReadonlyArray<unknown>) =>
        (length > 0 && length <= Limits.namesMax) || `expected 1 to ${Limits.namesMax} entries`,
    ),
  );

const patternExpected: Readonly<Record<Patterns.PatternProblem, string>> = {
  malformed: "expected a regular expression of RE2, which has no look-around and no back-references",
  "too-large": `expected an expression of at most ${Limits.patternInstructionsMax} instructions: fewer alternatives or repetitions`,
};

/** Compiled to see whether it can be, so that a complaint about it stands beside all others. */
const expression = Schema.String.check(
  Schema.makeFilter((source: string) => {
    if (source === "" || source.length > Limits.patternCharactersMax) {
      return `expected an expression of 1 to ${Limits.patternCharactersMax} characters`;
    }
    const pattern = Patterns.compile(source);
    return typeof pattern !== "string" || patternExpected[pattern];
  }),
);

/** All conditions of a rule must hold. */
const When = Schema.Struct({
  from: Schema.optionalKey(someOf(AgentName.schema)),
  principal: Schema.optionalKey(someOf(PrincipalId.schema)),
  unknownSender: Schema.optionalKey(Schema.Literal(true)),
  rate: Schema.optionalKey(
    Schema.Struct({
      items: wholeNumber(0, Limits.rateItemsMax),
      seconds: wholeNumber(1, Limits.rateSecondsMax),
    }),
  ),
  bytesOver: Schema.optionalKey(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
  text: Schema.optionalKey(expression),
  kind: Schema.optionalKey(someOf(Schema.Literal("multicast"))),
  conversation: Schema.optionalKey(Schema.Literals(["direct", "group"])),
}).check(
  Schema.makeFilter((when: object) => Object.keys(when).length > 0 || "expected at least one condition"),
);

const verdict = Schema.Literals(["allow", "hold", "check"]);

const Rule = Schema.Struct({
  when: When,
  verdict,
  explanation: Schema.optionalKey(boundedText(Limits.explanationBytesMax)),
  guidance: Schema.optionalKey(boundedText(Limits.guidanceBytesMax)),
}).check(
  Schema.makeFilter(
    (rule: { readonly verdict: string; readonly explanation?: string; readonly guidance?: string }) =>
      (rule.explanation === undefined || rule.verdict === "hold") &&
      (rule.guidance === undefined || rule.verdict === "allow")
        ? true
        : "expected an explanation beside hold alone, and guidance beside allow alone",
  ),
);

const argument = Schema.String.check(
  Schema.makeFilter((text: string) => !text.includes("\0") || "expected a text without NUL"),
);
const Checker = Schema.Struct({
  command: Schema.optionalKey(
    Schema.Array(argument).check(
      Schema.makeFilter(
        (words: ReadonlyArray<string>) =>
          (words.length <= 64 && words[0]?.startsWith("/") === true) ||
          "expected a program by its absolute path, then its arguments",
      ),
    ),
  ),
  url: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter(
        (text: string) =>
          CheckerUrl.parse(text) !== null ||
          "expected an https:// address, or an http:// one of this machine as in http://127.0.0.1:8080/",
      ),
    ),
  ),
  token: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter(
        (text: string) =>
          /^[A-Za-z0-9._~+/-]{1,1024}=*$/.test(text) || "expected a bearer token: letters, digits and ._~+/-",
      ),
    ),
  ),
}).check(
  Schema.makeFilter(
    (checker: { readonly command?: unknown; readonly url?: string; readonly token?: string }) =>
      (checker.command === undefined) !== (checker.url === undefined) &&
      (checker.token === undefined || checker.url !== undefined)
        ? true
        : "expected either a command, or a url and, where it takes one, its token",
  ),
);

/** What of a file decides about messages. */
interface Deciding {
  readonly rules?: ReadonlyArray<{ readonly verdict: string }>;
  readonly otherwise?: string;
  readonly checker?: unknown;
}

const File = Schema.Struct({
  rules: Schema.optionalKey(
    Schema.Array(Rule).check(
      Schema.makeFilter(
        ({ length }: ReadonlyArray<unknown>) =>
          length <= Limits.rulesMax || `expected at most ${Limits.rulesMax} rules`,
      ),
    ),
  ),
  /** For what no rule is about: `check` where there is a checker, else `allow`. */
  otherwise: Schema.optionalKey(verdict),
  checker: Schema.optionalKey(Checker),
  allowRelease: Schema.optionalKey(Schema.Boolean),
}).check(
  Schema.makeFilter(({ rules, otherwise, checker }: Deciding) => {
    if (rules === undefined && otherwise === undefined && checker === undefined) {
      return "expected rules, a checker, or both";
    }
    const verdicts = [otherwise, ...(rules ?? []).map((rule) => rule.verdict)];
    return (
      checker !== undefined ||
      !verdicts.includes("check") ||
      "expected a checker, since something is to be checked"
    );
  }),
);

export type RulesFile = typeof File.Type;
export type When = NonNullable<RulesFile["rules"]>[number]["when"];
export type CheckerSettings = NonNullable<RulesFile["checker"]>;

/** What is wrong with a file of rules, in words for its owner. */
export class RulesProblem extends Error {
  override readonly name = "RulesProblem";
}

const diagnose = Diagnosis.decoder(File);
/** As many as a person mends before looking again. */
const problemsShown = 8;

type Path = ReadonlyArray<string | number>;

/** A rule by its number, as a hold names it, then what is in it; whatever is in a list is counted from one. */
export const placeOf = (path: Path): string => {
  const [list, index, ...inside] = path;
  const isOfRule = list === "rules" && typeof index === "number";
  const steps = (isOfRule ? inside : path).map((step) =>
    typeof step === "number" ? `, entry ${step + 1}` : `.${step}`,
  );
  const within = steps.join("").slice(1);
  if (!isOfRule) return within;
  return `rule ${index + 1}${within === "" ? "" : `, ${within}`}`;
};

/** Throws `RulesProblem`. */
export const parse = (text: string): RulesFile => {
  let value: unknown;
  try {
    value = StrictJson.parse(text);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const isRepeated = error.reason === "repeated-name";
    throw new RulesProblem(isRepeated ? "a name stands twice in one object" : "it is no JSON");
  }
  const diagnosis = diagnose(value);
  if (diagnosis.ok) return diagnosis.value;
  const problems = diagnosis.issues
    .slice(0, problemsShown)
    .map(({ path, message }) => (path.length === 0 ? message : `${placeOf(path)}: ${message}`));
  const more = diagnosis.issues.length - problems.length;
  throw new RulesProblem([...problems, ...(more > 0 ? [`and ${more} more`] : [])].join("; "));
};
