// A WebSocket's pulse: pings at an interval and gives up on a peer that showed no life for two of them.
// The same on both ends, so a half-open connection is noticed by whoever needs it. Implements RTR-27.

import type { WebSocket } from "ws";

/** Watches until the returned function is called. Any frame counts as life. */
export const watch = (socket: WebSocket, intervalMs: number, onLost: () => void): (() => void) => {
  let silentIntervals = 0;
  const alive = (): void => {
    silentIntervals = 0;
  };
  const beat = (): void => {
    silentIntervals += 1;
    if (silentIntervals > 2) onLost();
    else if (socket.readyState === socket.OPEN) socket.ping();
  };
  const timer = setInterval(beat, intervalMs);
  timer.unref();
  socket.on("message", alive).on("ping", alive).on("pong", alive);
  return () => {
    clearInterval(timer);
    socket.off("message", alive).off("ping", alive).off("pong", alive);
  };
};
