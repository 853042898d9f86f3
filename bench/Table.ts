// Lines as text for a terminal: what was measured, beside what, the ratio, its target, and whether it was met.

import { isMet, type Line, type Quantity, ratioOf, type Target } from "./Line.ts";

const widths = { name: 50, measured: 16, against: 48, ratio: 8 };

/** Three significant digits; counts and large numbers whole. */
const digits = (value: number): string => {
  if (!Number.isFinite(value)) return "-";
  return Math.abs(value) >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(3);
};

const quantity = ({ value, unit }: Quantity): string => `${digits(value)} ${unit}`.trim();

const target = (of: Target): string => ("atMost" in of ? `<= ${of.atMost}` : `>= ${of.atLeast}`);

const row = (name: string, measured: string, against: string, ratio: string, rest: string): string =>
  `${name.padEnd(widths.name)}${measured.padStart(widths.measured)}   ${against.padEnd(widths.against)}${ratio.padStart(widths.ratio)}   ${rest}\n`;

export const head = (): string => row("measured", "", "beside", "ratio", "target");

export const section = (asks: string, seconds: number, lines: ReadonlyArray<Line>): string => {
  const rows = lines.map((line) => {
    const { name, against } = line;
    const rest = `${target(line.target).padEnd(9)} ${isMet(line) ? "met" : "MISSED"}`;
    const beside = `${quantity(against)} ${against.name}`;
    return row(`  ${name}`, quantity(line.measured), beside, digits(ratioOf(line)), rest);
  });
  return `\n${asks} (${seconds.toFixed(0)} s)\n${rows.join("")}`;
};
