// How this agent's connection to its Router stands, for people: up or not, since when, and why not. Decides nothing; what
// may be signed is Standing.ts's. Implements RUN-264.

import type { DisconnectReason } from "@social-harness/router/client/RouterClient";
import * as Trouble from "./Trouble.ts";

export interface RouterTrouble {
  readonly reason: DisconnectReason | Trouble.TroubleKind;
  readonly explanation: string;
}

export interface RouterState {
  readonly connected: boolean;
  /** Epoch milliseconds of the last change between connected and not; of the start before the first. */
  readonly since: number;
  /** Why it is not connected; null while it is, and until the first attempt has ended. */
  readonly trouble: RouterTrouble | null;
}

export interface RouterStanding {
  /** Returns how many seconds it was not connected, where that was said; else null. */
  readonly connected: () => number | null;
  /** Returns the trouble where it is to be said: when it begins, and when it has become another one that lasts. */
  readonly disconnected: (reason: DisconnectReason, cause?: Error) => RouterTrouble | null;
  readonly state: () => RouterState;
}

const words: Readonly<Record<DisconnectReason, string>> = {
  unreachable: "the Router cannot be reached",
  "wrong-router-key": "what answers at the Router's address has another key than the pinned one",
  "connection-lost": "the connection to the Router broke off",
  "heartbeat-lost": "the Router stopped answering",
  "protocol-error": "the Router broke the protocol",
  "delivery-failed": "what the Router delivered could not be stored; the log says why",
  "bad-card": "the Router refused this agent's card",
  "bad-signature": "the Router refused this agent's signature",
  "bad-nonce": "the Router refused this agent's answer",
  "unsupported-version": "the Router speaks another version of the protocol",
  superseded: "another process connected as this agent: does a copy of this state folder run elsewhere?",
  overloaded: "the Router is overloaded",
};

const troubleOf = (reason: DisconnectReason, cause: Error | undefined): RouterTrouble => {
  const known = reason === "unreachable" ? Trouble.of(cause) : null;
  if (known === null) return { reason, explanation: words[reason] };
  const advice = known.kind === "unreachable" ? "" : `. ${Trouble.remedy(known)}`;
  return { reason: known.kind, explanation: `${Trouble.explain("Router", known)}${advice}` };
};

/** A connection that breaks off is followed by attempts that are refused: one outage, and one line for it at first. */
const otherCauseMs = 10_000;

interface Said {
  readonly explanation: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

export const createRouterStanding = (clock: () => number): RouterStanding => {
  let state: RouterState = { connected: false, since: clock(), trouble: null };
  /** What was said last of this outage. */
  let said: Said | null = null;
  return {
    connected: () => {
      const now = clock();
      const seconds = said === null ? null : Math.max(0, Math.round((now - state.since) / 1_000));
      state = { connected: true, since: now, trouble: null };
      said = null;
      return seconds;
    },
    disconnected: (reason, cause) => {
      const now = clock();
      const trouble = troubleOf(reason, cause);
      state = { connected: false, since: state.connected ? now : state.since, trouble };
      const isTold =
        said !== null && (said.explanation === trouble.explanation || Math.abs(now - said.at) < otherCauseMs);
      if (isTold) return null;
      said = { explanation: trouble.explanation, at: now };
      return trouble;
    },
    state: () => state,
  };
};
