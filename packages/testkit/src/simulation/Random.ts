// Randomness that one number decides: the same seed gives the same run, call for call.

export interface Random {
  /** In [0, 1). */
  readonly next: () => number;
  /** A natural number below `count`. */
  readonly below: (count: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <T>(items: ReadonlyArray<T>) => T;
}

export const createRandom = (seed: number): Random => {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (count: number): number => Math.floor(next() * count);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (items) => {
      if (items.length === 0) throw new RangeError("nothing to pick from");
      return items[below(items.length)] as (typeof items)[number];
    },
  };
};
