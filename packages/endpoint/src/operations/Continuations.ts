// Single-use capabilities for the rest of a history snapshot. In memory only: a restart discards them all, and no SQLite
// read transaction lives as long as they do. Implements MGT-43 to MGT-45, MGT-108 and MGT-109.

import { Opaque32 } from "@social-harness/protocol/identity/Identifier";

export interface Continuations<Snapshot> {
  /** Mints one that is neither live nor `spent`, the one that brought its caller here; the oldest goes when there are too many. */
  readonly mint: (snapshot: Snapshot, spent: string | null) => Opaque32;
  /** The snapshot, once; null for anything that is not a live continuation. */
  readonly redeem: (continuation: string) => Snapshot | null;
}

const liveMax = 256;
const idleMsMax = 600_000;

export const createContinuations = <Snapshot>(
  random: (byteCount: number) => Uint8Array,
  clock: () => number,
): Continuations<Snapshot> => {
  const live = new Map<string, { readonly snapshot: Snapshot; readonly expiresAt: number }>();
  const expire = (): void => {
    const now = clock();
    for (const [continuation, { expiresAt }] of live) {
      if (expiresAt <= now || live.size > liveMax) live.delete(continuation);
    }
  };
  return {
    mint: (snapshot, spent) => {
      const draw = (): Opaque32 => Opaque32.fromBytes(random(32));
      let continuation = draw();
      while (live.has(continuation) || continuation === spent) continuation = draw();
      live.set(continuation, { snapshot, expiresAt: clock() + idleMsMax });
      expire();
      return continuation;
    },
    redeem: (continuation) => {
      expire();
      const found = live.get(continuation);
      live.delete(continuation);
      return found?.snapshot ?? null;
    },
  };
};
