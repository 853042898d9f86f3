// Catch up, then cut over to live, over any engine that can read a page and say that the log has grown. There is one
// cursor and one way to read, so no entry can be seen twice or fall between the two phases.

import { checkPosition, checkStream } from "./Arguments.ts";
import type { Entry, Log, Position, StreamName } from "./Log.ts";
import type { Wakeups } from "./Wakeups.ts";

export const subscription = async function* (
  read: Log["read"],
  wakeups: Wakeups,
  stream: StreamName,
  from: Position,
  signal: AbortSignal | undefined,
): AsyncGenerator<Entry, void, void> {
  checkStream(stream);
  checkPosition(from, 1);
  const stopped = (): boolean => signal?.aborted === true;
  let next = from;
  while (!stopped()) {
    const seen = wakeups.count();
    const page = await read(stream, next);
    for (const entry of page) {
      if (stopped()) return;
      next = entry.position + 1;
      yield entry;
    }
    if (page.length === 0) await wakeups.changedSince(seen, signal);
  }
};
