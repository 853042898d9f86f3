// Decides by the owner's rules: the first whose conditions all hold says what becomes of an item. Knows nothing of queues,
// holds or checkers. Implements ING-132 to ING-136, ING-241 and ING-242.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Limits from "./Limits.ts";
import type * as Pace from "./Pace.ts";
import * as Patterns from "./Patterns.ts";
import * as Rate from "./Rate.ts";
import type { RulesFile, When } from "./RulesFile.ts";
import type { Subject, Verdict } from "./Verdict.ts";

export type Decision = Verdict | { readonly verdict: "check" };

export interface Rules {
  /** Rejects when `signal` ends it, and otherwise never. */
  readonly decide: (subject: Subject, signal: AbortSignal) => Promise<Decision>;
}

type Fits = Patterns.Pattern | null;

/** The expression of a rule, null where it has none. */
const fitsOf = ({ text }: When): Fits => {
  if (text === undefined) return null;
  const pattern = Patterns.compile(text);
  if (typeof pattern === "string")
    throw new Error("a rule with an expression that its file was not taken with");
  return pattern;
};

const textsOf = ({ item }: Subject): ReadonlyArray<string> =>
  item.message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));

const arrivalOf = ({ sender, recordHash, order, receivedAt }: Subject): Rate.Arrival => ({
  sender: sender.agentId,
  recordHash,
  order,
  at: receivedAt,
});

/** Beginning a look costs as much as some characters do. */
const beginningOfALook = 32;
/** Looking at a rule costs something, and at each name in it. */
const stepsOf = (when: When): number =>
  100 + (when.from?.length ?? 0) + (when.principal?.length ?? 0) + (when.rate === undefined ? 0 : 10_000);

/** What becomes known step by step, with what has to be waited for on the way. */
type Steps<A> = Generator<Promise<void>, A, void>;

function* look(
  { fits, instructions }: Patterns.Pattern,
  texts: ReadonlyArray<string>,
  share: Pace.Share,
): Steps<"fits" | "fits-not" | "too-much"> {
  for (const text of texts) {
    const steps = (text.length + beginningOfALook) * instructions;
    if (steps > Limits.lookStepsMax) return "too-much";
    const pause = share.spend(steps);
    if (pause !== null) yield pause;
    if (share.isUsedUp()) return "too-much";
    if (fits(text)) return "fits";
  }
  return "fits-not";
}

/** A message that cannot be looked through must not pass for one in which nothing was found. */
const tooMuch = (index: number): Decision => ({
  verdict: "hold",
  reason: "rule",
  rule: index + 1,
  explanation: "The message is too much for this rule's expression to be looked through in time.",
});

export const compile = (file: RulesFile, pace: Pace.Pace): Rules => {
  const { rules = [] } = file;
  const patterns = rules.map(({ when }) => fitsOf(when));
  const rate = Rate.create(rules.flatMap(({ when }) => (when.rate === undefined ? [] : [when.rate])));
  const otherwise = file.otherwise ?? (file.checker === undefined ? "allow" : "check");

  /** Whether all conditions hold but the one on the text. */
  const holds = (when: When, subject: Subject, bytesOf: () => number): boolean => {
    const { item, sender, isKnown } = subject;
    if (when.from?.includes(sender.agentName) === false) return false;
    if (when.principal?.includes(sender.principalId) === false) return false;
    if (when.unknownSender === true && isKnown) return false;
    if (when.kind?.includes(item.kind) === false) return false;
    if (when.conversation !== undefined && when.conversation !== item.message.kind) return false;
    if (when.rate !== undefined && !rate.isExceeded(arrivalOf(subject), when.rate)) return false;
    return when.bytesOver === undefined || bytesOf() > when.bytesOver;
  };

  function* deciding(subject: Subject, signal: AbortSignal): Steps<Decision> {
    const share = pace.share(signal);
    const texts = textsOf(subject);
    // Reading it has cost something already.
    const first = share.spend(texts.reduce((sum, { length }) => sum + length, 0));
    if (first !== null) yield first;
    let bytes: number | undefined;
    const bytesOf = (): number => (bytes ??= CanonicalJson.byteLength(subject.item.message.content));
    for (const [index, { when, verdict, explanation, guidance }] of rules.entries()) {
      const pause = share.spend(stepsOf(when));
      if (pause !== null) yield pause;
      if (!holds(when, subject, bytesOf)) continue;
      const pattern = patterns[index] ?? null;
      const found = pattern === null ? "fits" : yield* look(pattern, texts, share);
      if (found === "fits-not") continue;
      if (found === "too-much") return tooMuch(index);
      switch (verdict) {
        case "allow":
          return { verdict: "allow", ...(guidance === undefined ? {} : { guidance }) };
        case "hold": {
          const words = explanation === undefined ? {} : { explanation };
          return { verdict: "hold", reason: "rule", rule: index + 1, ...words };
        }
        case "check":
          return { verdict: "check" };
      }
    }
    return otherwise === "hold" ? { verdict: "hold", reason: "rule" } : { verdict: otherwise };
  }

  return {
    decide: async (subject, signal) => {
      rate.note(arrivalOf(subject));
      const steps = deciding(subject, signal);
      for (;;) {
        const step = steps.next();
        if (step.done === true) return step.value;
        await step.value;
        signal.throwIfAborted();
      }
    },
  };
};
