// Which connections are more than the endpoint has room for. They are accepted all the same, because a refusal that says why
// is worth more than a connection that breaks. Implements MGT-144 and MGT-145.

import type { Server } from "node:http";
import type { Socket } from "node:net";
import { codes } from "./McpError.ts";
import { connectionsAcceptedMax, connectionsMax } from "./Limits.ts";

export interface Connections {
  /** Whether the connection came when there was no room. It stays what it is until it closes. */
  readonly isSurplus: (socket: Socket) => boolean;
}

export const crowded = {
  status: 503,
  error: {
    code: codes.refused,
    message: `All ${connectionsMax} connections of this endpoint are in use. Try again in a second, or close some.`,
  },
  headers: { "retry-after": "1" },
} as const;

export const watch = (server: Server): Connections => {
  const surplus = new WeakSet<Socket>();
  let open = 0;
  server.maxConnections = connectionsAcceptedMax;
  server.on("connection", (socket: Socket) => {
    open += 1;
    if (open > connectionsMax) surplus.add(socket);
    socket.once("close", () => void (open -= 1));
  });
  return { isSurplus: (socket) => surplus.has(socket) };
};
