import { EventEmitter } from "node:events";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Crowding from "../../src/sockets/Crowding.ts";
import * as OpenSockets from "../../src/sockets/OpenSockets.ts";

class FakeSocket extends EventEmitter {
  readonly localAddress = "127.0.0.1";
  readonly remoteAddress = "127.0.0.1";
  remotePort: number | undefined;
  destroyed = false;
  constructor(remotePort: number | undefined) {
    super();
    this.remotePort = remotePort;
  }
  destroy(): void {
    this.destroyed = true;
    this.remotePort = undefined;
    this.emit("close");
  }
}

const standing = (...sockets: ReadonlyArray<FakeSocket>): ReadonlyArray<boolean> =>
  sockets.map(({ destroyed }) => !destroyed);

const bench = (restingMax: number) => {
  let crowded = 0;
  let ports = 0;
  const open = OpenSockets.make({ restingMax, onCrowded: () => (crowded += 1) });
  return {
    open,
    crowded: () => crowded,
    accept: (): FakeSocket => {
      const socket = new FakeSocket(++ports);
      open.opened(socket);
      return socket;
    },
  };
};

verifies("RTR-54", "the one that has rested longest makes room, and none that is used", () => {
  const { open, accept, crowded } = bench(2);
  const [a, b, c] = [accept(), accept(), accept()];
  expect(standing(a, b, c)).toEqual([false, true, true]);
  expect([open.use(a), open.use(b), open.use(b)]).toEqual([false, true, true]);
  const d = accept();
  expect(standing(b, c, d)).toEqual([true, true, true]);
  // It comes last into the row of those that rest.
  open.rest(b);
  expect(standing(b, c, d)).toEqual([true, false, true]);
  accept();
  expect(standing(b, d)).toEqual([true, false]);
  expect(crowded()).toBe(3);
  // Whoever leaves makes room.
  b.destroy();
  const last = accept();
  expect(standing(last)).toEqual([true]);
  expect(crowded()).toBe(3);
});

verifies("RTR-52", "every one that was accepted is ended, used or not, also by the one inside it", () => {
  const { open, accept } = bench(8);
  const [a, b, c] = [accept(), accept(), accept()];
  // What TLS speaks on is another socket with the same ends.
  const inside = new FakeSocket(b.remotePort);
  expect(open.use(inside)).toBe(true);
  open.use(c);
  open.endResting();
  expect(standing(a, b, c, inside)).toEqual([false, true, true, true]);
  open.endAll();
  expect(standing(b, c)).toEqual([false, false]);
  const gone = new FakeSocket(undefined);
  open.opened(gone);
  expect(gone.destroyed).toBe(true);
});

verifies("RTR-54", "a crowd is told of at once, and then once a minute with how many there were", () => {
  let now = 1_000_000;
  const told: Array<number> = [];
  const timers: Array<readonly [at: number, fire: () => void]> = [];
  const pass = (ms: number): void => {
    now += ms;
    for (const [at, fire] of timers.splice(0)) if (at <= now) fire();
  };
  const crowded = Crowding.make({
    clock: () => now,
    schedule: (delayMs, fire) => timers.push([now + delayMs, fire]),
    tell: (connections) => told.push(connections),
  });
  for (let i = 0; i < 5; i++) crowded();
  expect([told, timers.length]).toEqual([[1], 1]);
  // Nobody else has to go.
  pass(60_000);
  expect([told, timers.length]).toEqual([[1, 4], 0]);
  pass(60_000);
  crowded();
  expect([told, timers.length]).toEqual([[1, 4, 1], 0]);
  // A clock that was set back.
  now -= 3_600_000;
  crowded();
  expect(told).toEqual([1, 4, 1, 1]);
});
