// The requests of one connection, one after another. HTTP answers them in order anyway, so the next is begun only when the
// answer before it has been handed over: a client that writes many at once and reads nothing, or is gone, costs one of them.
// What waits is held, not read: a connection that is not read would not tell that its client has left. So there is a bound,
// and whoever exceeds it is disconnected. Implements MGT-187 and MGT-188.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import * as Limits from "./Limits.ts";

export interface Turn {
  readonly outgoing: ServerResponse;
  /** Resolves when the answer is written, also where it cannot be. Never rejects. */
  readonly answer: () => Promise<void>;
}

export interface Turns {
  /** Answers at once, or after what came before on the same connection; never, when that has ended by then. */
  readonly take: (incoming: IncomingMessage, turn: Turn) => void;
}

/** Resolves when the answer has left for the reader or cannot any more. */
const handedOver = (outgoing: ServerResponse): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (outgoing.closed || outgoing.destroyed) resolve();
  else outgoing.once("close", resolve);
  return promise;
};

/** `patienceMs`: how long a reader may leave the end of a written answer where it is. */
export const make = (patienceMs: number = Limits.readerPatienceMs): Turns => {
  const lines = new WeakMap<Socket, Array<Turn>>();

  const serve = async ({ outgoing, answer }: Turn): Promise<void> => {
    await answer();
    const patience = setTimeout(() => outgoing.destroy(), patienceMs);
    patience.unref();
    await handedOver(outgoing);
    clearTimeout(patience);
  };

  /** The one that is being served stays first in its line until it is over. */
  const serveAll = async (socket: Socket, line: Array<Turn>): Promise<void> => {
    for (let turn = line[0]; turn !== undefined && !socket.destroyed; turn = line[0]) {
      await serve(turn);
      line.shift();
    }
  };

  return {
    take: ({ socket }, turn) => {
      const line = lines.get(socket) ?? [];
      if (socket.destroyed) return;
      if (line.length > Limits.requestsWaitingMax) return void socket.destroy();
      lines.set(socket, line);
      line.push(turn);
      if (line.length === 1) void serveAll(socket, line);
    },
  };
};
