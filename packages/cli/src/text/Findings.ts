// What the doctor found, to a person: a line a link, and under one that is not well what mends it.

import type { Finding, Verdict } from "../doctor/Finding.ts";
import type { Output } from "../Output.ts";
import { visible } from "./Visible.ts";

const marks: Readonly<Record<Verdict, readonly [mark: string, style: "green" | "yellow" | "red" | "dim"]>> = {
  ok: ["ok", "green"],
  warning: ["warning", "yellow"],
  broken: ["BROKEN", "red"],
  skipped: ["-", "dim"],
};

export const findingLines = ({ style }: Output, findings: ReadonlyArray<Finding>): ReadonlyArray<string> =>
  findings.flatMap(({ check, verdict, message, next }) => {
    const [mark, colour] = marks[verdict];
    const line = `${check.padEnd(14)}  ${style(colour, mark.padEnd(7))}  ${visible(message)}`;
    return next === "" ? [line] : [line, `${" ".repeat(25)}${visible(next)}`];
  });
