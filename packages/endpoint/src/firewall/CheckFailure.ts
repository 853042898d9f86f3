// How a checker can fail to answer: one closed list, with the words that its owner reads beside what is held for it. None of them
// repeats anything that the checker said.

export type CheckFailureCategory =
  "not-started" | "exited" | "unreachable" | "refused" | "timeout" | "too-large" | "malformed";

export class CheckFailure extends Error {
  override readonly name = "CheckFailure";
  readonly category: CheckFailureCategory;
  constructor(category: CheckFailureCategory, options?: ErrorOptions) {
    super(category, options);
    this.category = category;
  }
}

const words: Readonly<Record<CheckFailureCategory, string>> = {
  "not-started": "The checker's program could not be started: look at its path and its permissions.",
  exited: "The checker's program ended with an error or by a signal.",
  unreachable: "Nobody could be reached at the checker's address.",
  refused: "The checker answered with another status than 200.",
  timeout: "The checker did not answer in time.",
  "too-large": "The checker answered with more than a verdict can be.",
  malformed: "The checker's answer is no verdict.",
};

export const explain = (category: CheckFailureCategory): string => words[category];
