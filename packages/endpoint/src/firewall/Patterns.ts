// Regular expressions whose matching takes time in proportion to the text and nothing else, whatever somebody writes to slow
// it down: RE2, loaded with the first rule that has one. Implements ING-136.

import * as Limits from "./Limits.ts";

export interface Pattern {
  /** Whether a text has a place that the expression fits. */
  readonly fits: (text: string) => boolean;
  /** A look takes so many steps for each character, and most often far fewer. */
  readonly instructions: number;
}

export type PatternProblem = "malformed" | "too-large";

/** Compiles each of them, in order. */
export const compile = async (
  sources: ReadonlyArray<string>,
): Promise<ReadonlyArray<Pattern | PatternProblem>> => {
  if (sources.length === 0) return [];
  const { RE2JS, RE2JSException } = await import("re2js");
  return sources.map((source) => {
    try {
      const expression = RE2JS.compile(source);
      const instructions = expression.programSize();
      if (instructions > Limits.patternInstructionsMax) return "too-large";
      return { fits: (text) => expression.test(text), instructions };
    } catch (error) {
      if (error instanceof RE2JSException) return "malformed";
      throw error;
    }
  });
};
