// Decides by the owner's rules: the first whose conditions all hold says what becomes of an item. Knows nothing of queues,
// holds or checkers. Implements ING-132 to ING-136.

import { setImmediate } from "node:timers/promises";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Limits from "./Limits.ts";
import * as Patterns from "./Patterns.ts";
import * as Rate from "./Rate.ts";
import type { RulesFile, When } from "./RulesFile.ts";
import type { Subject, Verdict } from "./Verdict.ts";

export type Decision = Verdict | { readonly verdict: "check" };

export interface Rules {
  readonly decide: (subject: Subject) => Promise<Decision>;
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

/** Looks at each text; after a long one everybody else has a turn. */
const fitsText = async (fits: Patterns.Pattern, texts: ReadonlyArray<string>): Promise<boolean> => {
  for (const text of texts) {
    const isFound = fits(text);
    if (text.length > Limits.charactersAtOnce) await setImmediate();
    if (isFound) return true;
  }
  return false;
};

export const compile = (file: RulesFile): Rules => {
  const { rules = [] } = file;
  const patterns = rules.map(({ when }) => fitsOf(when));
  const rate = Rate.create(rules.flatMap(({ when }) => (when.rate === undefined ? [] : [when.rate])));
  const otherwise = file.otherwise ?? (file.checker === undefined ? "allow" : "check");

  const applies = async (when: When, fits: Fits, subject: Subject): Promise<boolean> => {
    const { item, sender, isKnown, recordHash, receivedAt } = subject;
    const arrival = { sender: sender.agentId, recordHash, at: receivedAt };
    if (when.from?.includes(sender.agentName) === false) return false;
    if (when.principal?.includes(sender.principalId) === false) return false;
    if (when.unknownSender === true && isKnown) return false;
    if (when.kind?.includes(item.kind) === false) return false;
    if (when.conversation !== undefined && when.conversation !== item.message.kind) return false;
    if (when.rate !== undefined && !rate.isExceeded(arrival, when.rate)) return false;
    if (when.bytesOver !== undefined) {
      if (CanonicalJson.byteLength(item.message.content) <= when.bytesOver) return false;
    }
    return fits === null || fitsText(fits, textsOf(subject));
  };

  return {
    decide: async (subject) => {
      const { sender, recordHash, receivedAt } = subject;
      rate.note({ sender: sender.agentId, recordHash, at: receivedAt });
      for (const [index, { when, verdict, explanation, guidance }] of rules.entries()) {
        if (!(await applies(when, patterns[index] ?? null, subject))) continue;
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
    },
  };
};
