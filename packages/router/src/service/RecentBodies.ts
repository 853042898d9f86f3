// The bodies accepted last, in bounded memory: a recipient that falls a window behind finds them here instead of in the
// log, and a group's members share one. Holds nothing that is not on disk.

export interface RecentBodies {
  readonly put: (position: number, body: Buffer) => void;
  readonly get: (position: number) => Buffer | undefined;
}

export const makeRecentBodies = (bytesMax: number): RecentBodies => {
  const bodies = new Map<number, Buffer>();
  let bytes = 0;
  return {
    get: (position) => bodies.get(position),
    put: (position, body) => {
      bodies.set(position, body);
      bytes += body.byteLength;
      for (const [oldest, { byteLength }] of bodies) {
        if (bytes <= bytesMax) return;
        bodies.delete(oldest);
        bytes -= byteLength;
      }
    },
  };
};
