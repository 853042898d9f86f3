// Which connections may stay. One that no caller has spoken on yet is a stranger's: there may be many, and where there are
// too many the one that has been silent longest goes, so that no number of them keeps out somebody who speaks at once. A
// connection that the gate has let through counts among its kind of caller, where the one that has been idle longest makes
// room, and no kind can use up another's share. Implements MGT-75.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import * as OpenSockets from "@social-harness/protocol/sockets/OpenSockets";
import type { Caller } from "./Caller.ts";
import * as Limits from "./Limits.ts";

export interface Room {
  readonly strangersMax: number;
  /** For each kind of caller. */
  readonly shareMax: number;
}

const roomDefault: Room = { strangersMax: Limits.strangersMax, shareMax: Limits.connectionsMax };

export interface Connections {
  readonly opened: (socket: Socket) => void;
  /** The connection is this kind of caller's from now on; false when that kind has too many that are all in use. */
  readonly admit: (socket: Socket, response: ServerResponse, kind: Caller["kind"]) => boolean;
  /** Ends each, whatever it is at. */
  readonly endAll: () => void;
}

/** How many requests are being answered on each connection, the one that was used longest ago first. */
type Share = Map<Socket, number>;

const makeRoom = (share: Share, shareMax: number): boolean => {
  if (share.size < shareMax) return true;
  for (const [socket, requests] of share) {
    if (requests > 0) continue;
    share.delete(socket);
    socket.destroy();
    return true;
  }
  return false;
};

export const make = ({ strangersMax, shareMax }: Room = roomDefault): Connections => {
  const sockets = OpenSockets.make({ restingMax: strangersMax });
  const shares: Readonly<Record<Caller["kind"], Share>> = {
    local: new Map(),
    owner: new Map(),
    runtime: new Map(),
  };
  const all: ReadonlyArray<Share> = Object.values(shares);
  /** Takes the connection out of its place; returns how many requests it was answering. */
  const remove = (socket: Socket): number => {
    const place = all.find((share) => share.has(socket));
    const requests = place?.get(socket) ?? 0;
    place?.delete(socket);
    return requests;
  };
  /** Puts it last in the place where it is, unless it has left that. */
  const answered = (socket: Socket): void => {
    const place = all.find((share) => share.has(socket));
    if (place !== undefined) place.set(socket, remove(socket) - 1);
  };
  return {
    opened: (socket) => {
      sockets.opened(socket);
      socket.once("close", () => remove(socket));
    },
    admit: (socket, response, kind) => {
      const share = shares[kind];
      if (socket.destroyed || (!share.has(socket) && !makeRoom(share, shareMax))) return false;
      sockets.use(socket);
      share.set(socket, remove(socket) + 1);
      response.once("close", () => answered(socket));
      return true;
    },
    endAll: sockets.endAll,
  };
};
