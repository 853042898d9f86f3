// The firewall of a run: rules and a slow command whose verdict follows from a post's text alone, so that whoever has the
// text knows what must have become of the post, however often it was asked about.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

export type Fate =
  | { readonly kind: "allowed"; readonly guidance: string | null }
  | { readonly kind: "held"; readonly reason: "rule" | "checker"; readonly explanation: string };

/** A post begins with its author, the members and `<burst>.<index>`; the last digit of the burst decides. */
const beginning = (digits: string): string => `^[a-z -]+ [0-9]*[${digits}]\\.[0-9]+ `;

const fates: Readonly<Record<string, Fate>> = {
  "3": { kind: "held", reason: "checker", explanation: "the checker holds this" },
  "4": { kind: "allowed", guidance: "the checker's guidance" },
  "5": { kind: "allowed", guidance: null },
  "7": { kind: "held", reason: "rule", explanation: "a rule holds this" },
  "8": { kind: "allowed", guidance: "a rule's guidance" },
};
const checked = "345";

export const fateOf = (text: string): Fate => {
  const digit = /^[a-z -]+ [0-9]*([0-9])\.[0-9]+ /.exec(text)?.[1] ?? "";
  return fates[digit] ?? { kind: "allowed", guidance: null };
};

/** Milliseconds that the command takes besides its start. */
const slowMsMax = 400;

const verdictOf = (fate: Fate): object =>
  fate.kind === "held"
    ? { verdict: "hold", reason: fate.explanation }
    : { verdict: "allow", ...(fate.guidance === null ? {} : { guidance: fate.guidance }) };

const command = `
import { setTimeout as sleep } from "node:timers/promises";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { item } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
const digit = /^[a-z -]+ [0-9]*([0-9])\\.[0-9]+ /.exec(item.message.content[0].text)[1];
await sleep(Math.random() * ${slowMsMax});
process.stdout.write(JSON.stringify(${JSON.stringify(
  Object.fromEntries([...checked].map((digit) => [digit, verdictOf(fates[digit] as Fate)])),
)}[digit]));
`;

const ruleOf = (digit: string): object => {
  const fate = fates[digit] as Fate;
  const when = { text: beginning(digit) };
  return fate.kind === "held"
    ? { when, verdict: "hold", explanation: fate.explanation }
    : { when, verdict: "allow", guidance: fate.guidance };
};

/** Puts the firewall into a state folder. */
export const raise = (state: string, firewall: string): void => {
  const checker = join(state, "checker.mjs");
  writeFileSync(checker, command, { mode: 0o600 });
  const file = {
    rules: [ruleOf("7"), ruleOf("8"), { when: { text: beginning(checked) }, verdict: "check" }],
    otherwise: "allow",
    checker: { command: [process.execPath, checker] },
  };
  writeFileSync(firewall, JSON.stringify(file), { mode: 0o600 });
};
