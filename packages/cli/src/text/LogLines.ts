// A line of a daemon's log for people: local time, level, what happened, and its fields.

import type { Level, Line } from "@social-harness/endpoint/state/LogFiles";
import type { Output } from "../Output.ts";
import { oneLine } from "./Visible.ts";

const styles = { debug: "dim", info: "cyan", warn: "yellow", error: "red" } as const satisfies Record<
  Level,
  string
>;

/** Longer ones are for --json. */
const valueCharactersMax = 400;

const localTime = (utc: string): string => {
  const time = new Date(utc);
  return Number.isNaN(time.getTime()) ? oneLine(utc) : time.toLocaleString("sv");
};

export const logLine = ({ style }: Output, { time, level, event, ...fields }: Line): string => {
  const pairs = Object.entries(fields).map(
    ([name, value]) => `${oneLine(name)}=${oneLine(String(value), valueCharactersMax)}`,
  );
  const head = `${style("dim", localTime(time))} ${style(styles[level], level.padEnd(5))} ${oneLine(event)}`;
  return [head, ...pairs].join("  ");
};
