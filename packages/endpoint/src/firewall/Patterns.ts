// Regular expressions whose matching takes time in proportion to the text and nothing else, whatever somebody writes to slow
// it down: RE2. Implements ING-136.

import { RE2JS, RE2JSException } from "re2js";
import * as Limits from "./Limits.ts";

/** Whether a text has a place that the expression fits. */
export type Pattern = (text: string) => boolean;

export type PatternProblem = "malformed" | "too-large";

export const compile = (source: string): Pattern | PatternProblem => {
  try {
    const expression = RE2JS.compile(source);
    if (expression.programSize() > Limits.patternInstructionsMax) return "too-large";
    return (text) => expression.test(text);
  } catch (error) {
    if (error instanceof RE2JSException) return "malformed";
    throw error;
  }
};
