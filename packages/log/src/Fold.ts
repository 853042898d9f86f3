// State folded from one stream, and decisions that are taken against it: fold to the tail, choose, append at exactly the
// position that was folded, and start over when another writer came first. That makes a check and its entry atomic on
// every engine, between processes too.

import type { Entry, Log, Position, StreamName } from "./Log.ts";
import { LogError } from "./LogError.ts";

/** What a decision comes to: an answer that writes nothing, or an entry and the answer once it is folded. */
export type Choice<T> =
  | { readonly kind: "answer"; readonly value: T }
  | { readonly kind: "append"; readonly bytes: Uint8Array; readonly value: T };

export interface Fold {
  /** The last position that the state contains. */
  readonly position: () => Position;
  /** Resolves once the state contains every entry that was in the log when this was called. */
  readonly catchUp: () => Promise<void>;
  /**
   * Calls `choose` with the state folded to the tail, one decision at a time, again after each lost race. `choose` is
   * synchronous and changes nothing. Rejects with `unavailable` after `attemptsMax` lost races.
   */
  readonly decide: <T>(choose: () => Choice<T>) => Promise<T>;
}

/** Each lost race means that another process appended; a caller that loses this many is better told to come back. */
export const attemptsMax = 64;

/** `apply` gets each entry once, in order. When it throws, the entry stays unfolded and every later call meets it again. */
export const makeFold = (log: Log, stream: StreamName, apply: (entry: Entry) => void): Fold => {
  let position = 0;
  let turn: Promise<unknown> = Promise.resolve();
  /** The catch-up that has not begun: it will see what any caller sees now, so callers share it. */
  let nextCatchUp: Promise<void> | null = null;

  /** Turns run one after another, so a turn that begins after a call sees everything that was there at the call. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work);
    turn = result.catch(() => {});
    return result;
  };

  const foldToTail = async (): Promise<void> => {
    for (;;) {
      const page = await log.read(stream, position + 1);
      if (page.length === 0) return;
      for (const entry of page) {
        apply(entry);
        position = entry.position;
      }
    }
  };

  const decideOnce = async <T>(choose: () => Choice<T>): Promise<{ readonly value: T } | null> => {
    await foldToTail();
    const choice = choose();
    if (choice.kind === "answer") return choice;
    const appended = await log.append(stream, choice.bytes, { expectedTail: position });
    if (appended.kind !== "appended") return null;
    await foldToTail();
    return choice;
  };

  return {
    position: () => position,
    catchUp: () => {
      nextCatchUp ??= inTurn(() => {
        nextCatchUp = null;
        return foldToTail();
      });
      return nextCatchUp;
    },
    decide: (choose) =>
      inTurn(async () => {
        for (let attempt = 0; attempt < attemptsMax; attempt++) {
          const decided = await decideOnce(choose);
          if (decided !== null) return decided.value;
        }
        throw new LogError("unavailable", "other writers of the stream came first every time");
      }),
  };
};
