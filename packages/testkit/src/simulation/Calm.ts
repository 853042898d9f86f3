// Good weather: everything that was sent arrives, in lane order, and time moves only when nothing else can.
// What scenarios run on, and what every storm ends in.

import type { Random } from "./Random.ts";
import type { World } from "./FoldWorld.ts";

export interface CalmOptions {
  /** How far time may move, in milliseconds. */
  readonly horizonMs: number;
  /** Decides who is served next; without it members are served in their order. */
  readonly random?: Random;
  /** Stops a run that never comes to rest. */
  readonly stepsMax?: number;
}

/** Moves one thing. False when nothing is on its way. */
const step = (world: World, random: Random | undefined): boolean => {
  const first = random === undefined ? 0 : random.below(world.all.length);
  for (let i = 0; i < world.all.length; i++) {
    const index = (first + i) % world.all.length;
    if (world.flush(index) || world.deliverLane(index) || world.deliverFromBag(index, 0)) return true;
  }
  return false;
};

/** Runs until nothing moves within the horizon. True when the world came to rest: no timer is left at all. */
export const calm = (world: World, { horizonMs, random, stepsMax = 100_000 }: CalmOptions): boolean => {
  const until = world.now + horizonMs;
  for (let steps = 0; steps < stepsMax; steps++) {
    if (step(world, random)) continue;
    const wake = world.nextWake();
    if (wake === null) return true;
    if (wake > until) {
      world.now = until;
      return false;
    }
    world.now = Math.max(world.now, wake);
    world.tick();
  }
  return false;
};
