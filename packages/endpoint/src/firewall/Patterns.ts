// Regular expressions whose matching takes time in proportion to the text and nothing else, whatever somebody writes to slow
// it down: RE2, loaded with the first rule that has one. Implements ING-136.

import * as Limits from "./Limits.ts";

/** Whether a text has a place that the expression fits. */
export type Pattern = (text: string) => boolean;

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
      if (expression.programSize() > Limits.patternInstructionsMax) return "too-large";
      return (text) => expression.test(text);
    } catch (error) {
      if (error instanceof RE2JSException) return "malformed";
      throw error;
    }
  });
};
