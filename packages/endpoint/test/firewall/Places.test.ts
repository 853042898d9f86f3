// Places are shared fairly, given back, and waited for no longer than somebody wants them.

import { setImmediate } from "node:timers/promises";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Places from "../../src/firewall/Places.ts";

/** Who has a place, in the order in which they got it, and how each gives it back. */
const shared = (bounds: Places.Bounds) => {
  const places = Places.create(bounds);
  const inside = new Map<string, () => void>();
  const stopping = new AbortController();
  const gone: Array<string> = [];
  const take = (name: string, signal = stopping.signal): void =>
    void places.take(name.charAt(0), signal).then(
      (giveBack) => inside.set(name, giveBack),
      () => gone.push(name),
    );
  const leave = async (name: string): Promise<void> => {
    inside.get(name)?.();
    inside.delete(name);
    await setImmediate();
  };
  return { take, leave, names: () => [...inside.keys()], gone, stopping };
};

verifies("ING-248", "parties take turns, and none has more than its part", async () => {
  const { take, leave, names } = shared({ placesMax: 3, ofOneMax: 2 });
  for (const name of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) take(name);
  await setImmediate();
  expect(names()).toEqual(["a1", "a2", "b1"]);
  await leave("b1");
  expect(names()).toEqual(["a1", "a2", "b2"]);
  await leave("a1");
  expect(names()).toEqual(["a2", "b2", "a3"]);
  // More of a waits, and has waited longer: it is the turn of c.
  await leave("a2");
  expect(names()).toEqual(["b2", "a3", "c1"]);
  await leave("c1");
  await leave("b2");
  expect(names()).toEqual(["a3", "a4"]);
});

verifies("ING-248", "whoever waits no more gets no place, and takes none from others", async () => {
  const { take, leave, names, gone, stopping } = shared({ placesMax: 1, ofOneMax: 1 });
  const leaving = new AbortController();
  take("a1");
  take("a2", leaving.signal);
  take("b1", leaving.signal);
  take("a3");
  leaving.abort();
  await setImmediate();
  expect(gone).toEqual(["a2", "b1"]);
  await leave("a1");
  expect(names()).toEqual(["a3"]);
  take("c1");
  stopping.abort();
  take("c2");
  await setImmediate();
  expect([names(), gone]).toEqual([["a3"], ["a2", "b1", "c1", "c2"]]);
});
