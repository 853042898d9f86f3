// Regular expressions whose matching takes time in proportion to the text and nothing else, whatever somebody writes to slow
// it down: RE2. Implements ING-136.

import { RE2JS, RE2JSException } from "re2js";
import * as Limits from "./Limits.ts";

export interface Pattern {
  /** Whether a text has a place that the expression fits. */
  readonly fits: (text: string) => boolean;
  /** A look takes so many steps for each character, and most often far fewer. */
  readonly instructions: number;
}

export type PatternProblem = "malformed" | "too-large";

export const compile = (source: string): Pattern | PatternProblem => {
  try {
    const expression = RE2JS.compile(source);
    const instructions = expression.programSize();
    if (instructions > Limits.patternInstructionsMax) return "too-large";
    return { fits: (text) => expression.test(text), instructions };
  } catch (error) {
    if (error instanceof RE2JSException) return "malformed";
    throw error;
  }
};
