// What an oracle throws: the invariant that broke, then how, as `invariant: message`.

export class Violation extends Error {
  override readonly name = "Violation";
}

export const violate = (invariant: string, message: string): never => {
  throw new Violation(`${invariant}: ${message}`);
};

const defect = "defect: ";

/** The invariant that an error names; any other error is a defect of the code under test. */
export const invariantOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof Violation ? message.slice(0, message.indexOf(":")) : defect + message;
};

/** Whether what broke was the program, and no oracle had a word. */
export const isDefect = (invariant: string): boolean => invariant.startsWith(defect);

/** The thresholds in the oracles' own words: a fold that lowers one must not lower the other with it. */
export const thresholdsOf = (n: number) => {
  const faulty = n < 4 ? 0 : Math.ceil(n / 3) - 1;
  const quorum = n - faulty;
  const actionOf = (height: number): number => (height === 0 ? n : quorum);
  return {
    faulty,
    quorum,
    holders: quorum - faulty,
    actionOf,
    /** So many refused that with the votes of every liar among them a certificate is one short. */
    voidOf: (height: number) => n + faulty - actionOf(height) + 1,
  };
};
