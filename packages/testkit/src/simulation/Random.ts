// Randomness that one number decides: the same seed gives the same run, call for call.

export interface Random {
  /** In [0, 1). */
  readonly next: () => number;
  /** A natural number below `count`. */
  readonly below: (count: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <T>(items: ReadonlyArray<T>) => T;
  /** Begins anew from another seed: what is drawn later no longer depends on what was drawn before. */
  readonly reseed: (seed: number) => void;
}

/** One number out of several, every bit of each of them counting. */
export const mix = (...parts: ReadonlyArray<number>): number => {
  let mixed = 0x9e3779b9;
  for (const part of parts) {
    mixed = Math.imul(mixed ^ (part >>> 0) ^ Math.floor(part / 4_294_967_296), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    mixed ^= mixed >>> 16;
  }
  return mixed >>> 0;
};

export const createRandom = (seed: number): Random => {
  let state = 0;
  const reseed = (from: number): void => {
    state = Math.imul(from + 1, 2_654_435_761) >>> 0;
  };
  reseed(seed);
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
    reseed,
  };
};
