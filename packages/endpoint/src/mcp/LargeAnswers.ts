// The answers that have megabytes, of one tool: few are made at a time, and few wait made for readers that take their time.
// The rest waits its turn, the kinds of callers in rotation, and within a kind who came first; a connection has one request
// under way, so nobody is in the line twice. Who leaves while it waits, or still waits when the endpoint stops, is never
// begun. Implements MGT-189 to MGT-192.

import { setImmediate } from "node:timers/promises";
import type { OperationName } from "../operations/OperationError.ts";
import type { Caller } from "./Caller.ts";
import * as CallShape from "./CallShape.ts";
import * as Limits from "./Limits.ts";

export interface Asker {
  readonly kind: Caller["kind"];
  /** Aborts when the reader has left. */
  readonly gone: AbortSignal;
  /** Resolves when the answer has been handed over, or the reader has left. */
  readonly over: Promise<void>;
}

export interface LargeAnswers {
  /** What `make` answers when it is the asker's turn; null when that does not come. */
  readonly answer: <A>(asker: Asker, make: () => Promise<A>) => Promise<A | null>;
  /** Begins nothing more, and lets those who wait know at once. */
  readonly close: () => void;
}

interface Share {
  readonly waiting: Set<() => void>;
  /** Begun, and not handed over yet. */
  held: number;
}

const share = (): Share => ({ waiting: new Set(), held: 0 });

/**
 * Connections are accepted one a turn of the event loop, and that a client has left takes a few turns more to be seen: of a
 * crowd that came and went while others were served, each would be read for.
 */
const turnsToSee = 4;

const hasLeft = async (gone: AbortSignal): Promise<boolean> => {
  for (let turn = 0; turn < turnsToSee && !gone.aborted; turn++) await setImmediate();
  return gone.aborted;
};

const once = (act: () => void): (() => void) => {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
};

/** `slowMs`: after how long an answer that is not made yet holds up nobody any more. */
export const make = (slowMs: number = Limits.largeAnswerMsMax): LargeAnswers => {
  const shares: Readonly<Record<Caller["kind"], Share>> = {
    local: share(),
    owner: share(),
    runtime: share(),
  };
  /** Whose turn it is: the kind that was served longest ago comes first. */
  const rotation = Object.values(shares);
  let making = 0;
  let closed = false;

  const beginNext = (): void => {
    const due = rotation.find(({ waiting, held }) => waiting.size > 0 && held < Limits.largeAnswersHeldMax);
    if (due === undefined || making >= Limits.largeAnswersMadeMax) return;
    rotation.push(...rotation.splice(rotation.indexOf(due), 1));
    for (const begin of due.waiting) return begin();
  };

  /** True when it may begin, and counts then. */
  const turnOf = (own: Share, gone: AbortSignal): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const end = (mayBegin: boolean): void => {
      own.waiting.delete(begin);
      gone.removeEventListener("abort", drop);
      resolve(mayBegin);
    };
    const drop = (): void => end(false);
    const begin = (): void => {
      if (closed) return drop();
      making += 1;
      own.held += 1;
      end(true);
    };
    if (closed || gone.aborted) return Promise.resolve(false);
    gone.addEventListener("abort", drop);
    own.waiting.add(begin);
    beginNext();
    return promise;
  };

  return {
    answer: async ({ kind, gone, over }, work) => {
      const own = shares[kind];
      if (!(await turnOf(own, gone))) return null;
      const made = once(() => {
        making -= 1;
        beginNext();
      });
      const taken = once(() => {
        own.held -= 1;
        beginNext();
      });
      void over.then(taken);
      const slow = setTimeout(() => {
        made();
        taken();
      }, slowMs);
      slow.unref();
      try {
        return (await hasLeft(gone)) ? null : await work();
      } finally {
        clearTimeout(slow);
        made();
      }
    },
    close: () => {
      closed = true;
      for (const { waiting } of rotation) for (const begin of waiting) begin();
    },
  };
};

/** Each of their answers may have 2 MiB of content, which is in it twice: as text and as what it says. */
const tools: ReadonlyArray<OperationName> = ["read_conversation", "read_inbox"];

export interface AllLargeAnswers {
  /** Where a message waits its turn, when it is a call with a large answer. */
  readonly of: (message: unknown) => LargeAnswers | undefined;
  readonly close: () => void;
}

/** One line for each of these tools, so that messages do not wait behind history. */
export const makeAll = (): AllLargeAnswers => {
  const lines = new Map<unknown, LargeAnswers>(tools.map((name) => [name, make()]));
  return {
    of: (message) =>
      CallShape.isObject(message) &&
      message["method"] === "tools/call" &&
      CallShape.isObject(message["params"])
        ? lines.get(message["params"]["name"])
        : undefined,
    close: () => {
      for (const line of lines.values()) line.close();
    },
  };
};
