// UTC seconds in the spelling of cards, from the clock that the composition root gives (milliseconds since 1970).

import type { Timestamp } from "@social-harness/protocol/identity/AgentCard";

export type Clock = () => number;

export const timestampOf = (milliseconds: number): Timestamp =>
  `${new Date(milliseconds).toISOString().slice(0, 19)}Z` as Timestamp;
