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
  /** Epoch milliseconds since which it is connected and everything is refused that it is sent; null where it is not so. */
  readonly refusingSince: number | null;
}

/** Of a Router that is connected and answers everything that it is sent with `unavailable`. */
export const refusing =
  "it refuses every post as unavailable, its disk may be full: posts wait and go out by themselves; tell the network's operator";

export interface RouterStanding {
  /** Returns how many seconds it was not connected, where that was said; else null. */
  readonly connected: () => number | null;
  /** Returns the trouble where it is to be said: when it begins, and when it has become another one that lasts. */
  readonly disconnected: (reason: DisconnectReason, cause?: Error) => RouterTrouble | null;
  /** The Router begins to refuse everything as `unavailable`, or decides on it again. */
  readonly taking: (taking: boolean) => void;
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

/** What helps against each, one sentence; what is none of these is told as an outage. */
const remedies: Readonly<Record<Exclude<DisconnectReason, "unreachable">, string>> = {
  "wrong-router-key":
    "Ask your network's operator for its address, and take it with `social-harness move <invite>`: posts wait meanwhile.",
  "connection-lost":
    "It connects again by itself; where that repeats, look at the line, and at a proxy in between that ends connections.",
  "heartbeat-lost":
    "It connects again by itself; where that repeats, look at the line, and at a proxy in between that ends connections.",
  "protocol-error":
    "Run the same version here and in the network; where they are the same, tell the network's operator.",
  "delivery-failed": "Mend the store: `social-harness status` says what is the matter with it.",
  "bad-card": "The Router belongs to another Registry than this agent's card: tell the network's operator.",
  "bad-signature":
    "Put back the identity.json that this folder was registered with, then start the daemon again.",
  "bad-nonce": "It connects again by itself; where it stays so, tell the network's operator.",
  "unsupported-version": "Update social-harness on the older side.",
  superseded:
    "Stop the other process: an agent runs in one place. Where its folder was copied, keep one copy and remove the other.",
  overloaded: "It connects again by itself; where it stays so, tell the network's operator.",
};

export const remedyOf = (reason: string): string => {
  if (Object.hasOwn(remedies, reason)) return remedies[reason as keyof typeof remedies];
  return Trouble.remedy("Router", Trouble.isKind(reason) ? reason : "unreachable");
};

/** What the system says of a failure that nobody foresaw; nothing of it can be an address or a secret. */
const codeOf = (cause: Error | undefined): string => {
  const code = cause !== undefined && "code" in cause ? String(cause.code) : "";
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? ` (${code})` : "";
};

const troubleOf = (reason: DisconnectReason, cause: Error | undefined): RouterTrouble => {
  if (reason !== "unreachable") return { reason, explanation: words[reason] };
  const known = Trouble.of(cause);
  if (known === null) return { reason, explanation: `${words[reason]}${codeOf(cause)}` };
  const advice = known.kind === "unreachable" ? "" : `. ${Trouble.remedy("Router", known.kind)}`;
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
  let state: RouterState = { connected: false, since: clock(), trouble: null, refusingSince: null };
  /** What was said last of this outage. */
  let said: Said | null = null;
  return {
    connected: () => {
      const now = clock();
      const seconds = said === null ? null : Math.max(0, Math.round((now - state.since) / 1_000));
      state = { connected: true, since: now, trouble: null, refusingSince: null };
      said = null;
      return seconds;
    },
    disconnected: (reason, cause) => {
      const now = clock();
      const trouble = troubleOf(reason, cause);
      const since = state.connected ? now : state.since;
      state = { connected: false, since, trouble, refusingSince: null };
      const isTold =
        said !== null && (said.explanation === trouble.explanation || Math.abs(now - said.at) < otherCauseMs);
      if (isTold) return null;
      said = { explanation: trouble.explanation, at: now };
      return trouble;
    },
    taking: (taking) => {
      state = { ...state, refusingSince: taking || !state.connected ? null : clock() };
    },
    state: () => state,
  };
};
