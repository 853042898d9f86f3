// What a receiver's Retry-After asks for, in milliseconds and within bounds: whole seconds, or one of the three forms of
// a date that HTTP knows. Anything else counts as not said. Implements ING-73.

import * as Limits from "./Limits.ts";

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const time = "(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)";
const forms = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d\\d) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${time} GMT$`),
  // Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(`^[A-Z][a-z]{5,8}, (?<day>\\d\\d)-(?<month>[A-Z][a-z]{2})-(?<year>\\d\\d) ${time} GMT$`),
  // Sun Nov  6 08:49:37 1994
  new RegExp(`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`),
];

/** Two digits are the latest year with that ending that is not more than 50 years ahead. */
const yearOf = (digits: string, now: number): number => {
  if (digits.length === 4) return Number(digits);
  const thisYear = 1970 + Math.floor(now / 31_556_952_000);
  const latest = thisYear + 50;
  return latest - ((latest - Number(digits)) % 100);
};

const dateOf = (text: string, now: number): number | null => {
  for (const form of forms) {
    const parts = form.exec(text)?.groups;
    if (parts === undefined) continue;
    const month = months.indexOf(parts["month"] ?? "");
    if (month === -1) return null;
    const [day, hour, minute, second] = ["day", "hour", "minute", "second"].map((part) =>
      Number(parts[part]),
    );
    return Date.UTC(yearOf(parts["year"] ?? "", now), month, day, hour, minute, second);
  }
  return null;
};

const bounded = (ms: number): number => Math.min(Math.max(ms, 0), Limits.retryAfterMsMax);

/** How long to wait, or null when the header is absent or says nothing. A date that has passed is no wait at all. */
export const parse = (header: string | undefined, now: number): number | null => {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return bounded(Number(text) * 1_000);
  const date = dateOf(text, now);
  return date === null ? null : bounded(date - now);
};
