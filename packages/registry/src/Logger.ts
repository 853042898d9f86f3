// Where the Registry says what happened. Fields hold names, ids and codes; never credentials, keys or bodies.

export type Logger = (
  level: "info" | "warn" | "error",
  event: string,
  fields?: Readonly<Record<string, string | number>>,
) => void;
