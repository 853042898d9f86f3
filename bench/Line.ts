// One answer of a bench: something measured, what it is held against in the same run, and the ratio of the two beside its
// target. A bare number is never an answer.

export interface Quantity {
  readonly value: number;
  readonly unit: string;
}

/** The ratio may be at most this, or must be at least this. */
export type Target = { readonly atMost: number } | { readonly atLeast: number };

export interface Line {
  /** What was measured, in a few words. */
  readonly name: string;
  readonly measured: Quantity;
  /** What it is held against: measured beside it, counted, or a limit that the product promises. */
  readonly against: Quantity & { readonly name: string };
  readonly target: Target;
}

export interface Question {
  /** As it is named on the command line. */
  readonly name: string;
  readonly asks: string;
  readonly answer: () => Promise<ReadonlyArray<Line>>;
}

export const ratioOf = ({ measured, against }: Line): number => measured.value / against.value;

/** A ratio that is no number (nothing was measured) meets no target. */
export const isMet = (line: Line): boolean => {
  const ratio = ratioOf(line);
  return "atMost" in line.target ? ratio <= line.target.atMost : ratio >= line.target.atLeast;
};
