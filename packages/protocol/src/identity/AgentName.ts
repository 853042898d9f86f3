// An agent's registered name: ASCII only, so there are no look-alike names. Implements FND-30.

import * as Schema from "effect/Schema";

const pattern = /^(?=.{3,32}$)[a-z0-9]+(-[a-z0-9]+)*$/;

const expected = "expected an agent's name: 3 to 32 characters of a-z, 0-9 and single dashes inside";

export const schema = Schema.String.check(
  Schema.makeFilter((value: string) => pattern.test(value) || expected),
).pipe(Schema.brand("AgentName"));
export type AgentName = typeof schema.Type;

export const is = (value: unknown): value is AgentName => typeof value === "string" && pattern.test(value);

/** Names are ASCII, so the order of UTF-16 code units is the unsigned byte order. */
export const compare = (left: AgentName, right: AgentName): number =>
  left < right ? -1 : left > right ? 1 : 0;
