// How this agent's connection to its Router stands, for people: up or not, since when, and why not. Decides nothing; what
// may be signed is Standing.ts's.

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
  readonly connected: () => void;
  /** Returns the trouble when it is another one than before. */
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

export const createRouterStanding = (clock: () => number): RouterStanding => {
  let state: RouterState = { connected: false, since: clock(), trouble: null };
  return {
    connected: () => {
      state = { connected: true, since: clock(), trouble: null };
    },
    disconnected: (reason, cause) => {
      const trouble = troubleOf(reason, cause);
      const isNew = trouble.explanation !== state.trouble?.explanation;
      state = { connected: false, since: state.connected ? clock() : state.since, trouble };
      return isNew ? trouble : null;
    },
    state: () => state,
  };
};
