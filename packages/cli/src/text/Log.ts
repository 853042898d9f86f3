// What a serving command has to say while it runs: one JSON object a line on stderr, which whoever supervises it keeps. Its
// first three fields have the names and the order of an endpoint's log. Implements RUN-290.

import process from "node:process";

export type Level = "info" | "warn" | "error";
export type Logger = (
  level: Level,
  event: string,
  fields?: Readonly<Record<string, string | number>>,
) => void;

const ranks: Readonly<Record<Level, number>> = { info: 0, warn: 1, error: 2 };

export const logToStderr =
  (from: Level): Logger =>
  (level, event, fields = {}) => {
    if (ranks[level] < ranks[from]) return;
    process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`);
  };
