// The sockets of one listening server, from their accept to their end, whatever has been said on them: what they carry knows
// only of those on which something was. Those that rest are bounded, and where there are too many the one that has rested
// longest goes, so that no number of them keeps out somebody who speaks. Opens none and waits for none.

/** As the operating system made it, or the one inside it that TLS speaks on. */
export interface AcceptedSocket {
  readonly localAddress?: string | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly destroy: () => unknown;
  readonly once: (event: "close", listener: () => void) => unknown;
}

export interface OpenSocketsOptions {
  readonly restingMax: number;
  /** One that rested had to go. */
  readonly onCrowded?: () => void;
}

export interface OpenSockets {
  /** Was accepted, and rests until somebody uses it. */
  readonly opened: (socket: AcceptedSocket) => void;
  /** Counts as used until it rests again; false when it is gone. */
  readonly use: (socket: AcceptedSocket) => boolean;
  readonly rest: (socket: AcceptedSocket) => void;
  readonly endResting: () => void;
  readonly endAll: () => void;
}

/**
 * A TLS connection is two sockets, the one that was accepted and the one inside it. What both of them say of their ends is
 * the same, and no two open ones have it. Null once it is gone.
 */
const endsOf = ({ localAddress, remoteAddress, remotePort }: AcceptedSocket): string | null =>
  remotePort === undefined ? null : `${localAddress} ${remoteAddress} ${remotePort}`;

export const make = ({ restingMax, onCrowded }: OpenSocketsOptions): OpenSockets => {
  /** In the order in which they came to rest. */
  const resting = new Map<string, AcceptedSocket>();
  const used = new Map<string, AcceptedSocket>();

  const lay = (ends: string, socket: AcceptedSocket): void => {
    for (const [oldest, silent] of resting) {
      if (resting.size < restingMax) break;
      resting.delete(oldest);
      silent.destroy();
      onCrowded?.();
    }
    resting.set(ends, socket);
  };

  /** Takes it from one place to be put into the other. */
  const taken = (
    socket: AcceptedSocket,
    place: Map<string, AcceptedSocket>,
  ): readonly [string, AcceptedSocket] | null => {
    const ends = endsOf(socket);
    const accepted = ends === null ? undefined : place.get(ends);
    if (ends === null || accepted === undefined) return null;
    place.delete(ends);
    return [ends, accepted];
  };

  const endEach = (place: Map<string, AcceptedSocket>): void => {
    for (const socket of place.values()) socket.destroy();
    place.clear();
  };

  return {
    opened: (socket) => {
      const ends = endsOf(socket);
      // Its peer was gone before it was accepted.
      if (ends === null) return void socket.destroy();
      lay(ends, socket);
      socket.once("close", () => {
        for (const place of [resting, used]) if (place.get(ends) === socket) place.delete(ends);
      });
    },
    use: (socket) => {
      const found = taken(socket, resting);
      if (found !== null) used.set(...found);
      const ends = endsOf(socket);
      return ends !== null && used.has(ends);
    },
    rest: (socket) => {
      const found = taken(socket, used);
      if (found !== null) lay(...found);
    },
    endResting: () => endEach(resting),
    endAll: () => {
      endEach(resting);
      endEach(used);
    },
  };
};
