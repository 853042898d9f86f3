// Work that owns processes: whatever it opened is closed when it ends, fails or is interrupted.

import { interrupted } from "../Failure.ts";
import { untilStopped } from "../Waiting.ts";

/** Registers what must be closed; the newest is closed first. */
export type CleanUp = (close: () => Promise<void>) => void;

export const interruptible = async <A>(work: (cleanUp: CleanUp) => Promise<A>): Promise<A> => {
  const closers: Array<() => Promise<void>> = [];
  const stopped = untilStopped().then((): "stopped" => "stopped");
  try {
    const result = await Promise.race([work((close) => void closers.push(close)), stopped]);
    if (result !== "stopped") return result as A;
    throw interrupted();
  } finally {
    for (const close of closers.reverse()) await close();
  }
};
