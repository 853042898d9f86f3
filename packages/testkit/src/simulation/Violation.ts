// What an oracle throws: the invariant that broke, then how, as `invariant: message`.

export class Violation extends Error {
  override readonly name = "Violation";
}

export const violate = (invariant: string, message: string): never => {
  throw new Violation(`${invariant}: ${message}`);
};

/** The invariant that an error names; any other error is a defect of the code under test. */
export const invariantOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof Violation ? message.slice(0, message.indexOf(":")) : `defect: ${message}`;
};

/** The thresholds in the oracles' own words: a fold that lowers one must not lower the other with it. */
export const thresholdsOf = (n: number) => {
  const faulty = n < 4 ? 0 : Math.ceil(n / 3) - 1;
  const quorum = n - faulty;
  return {
    faulty,
    quorum,
    holders: quorum - faulty,
    actionOf: (height: number) => (height === 0 ? n : quorum),
  };
};
