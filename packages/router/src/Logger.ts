// Where the Router and its client say what happened. Fields hold identifiers, counts and closed reasons; never an
// envelope, a key or a nonce.

export type Logger = (
  level: "info" | "warn" | "error",
  event: string,
  fields?: Readonly<Record<string, string | number>>,
) => void;
