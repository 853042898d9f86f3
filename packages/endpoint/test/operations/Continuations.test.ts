// Continuations alone: how many live, how long, and that no draw of a repeating random source makes two of them one.

import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import { createContinuations } from "../../src/operations/Continuations.ts";

const counting = () => {
  let drawn = 0;
  return (byteCount: number): Buffer => Buffer.alloc(byteCount, String(++drawn));
};

verifies(
  "MGT-45",
  "at most 256 snapshots are retained, the oldest goes first, each for ten idle minutes",
  () => {
    let now = 0;
    const { mint, redeem } = createContinuations<number>(counting(), () => now);
    const minted = Array.from({ length: 257 }, (_, i) => mint(i, null));
    expect(redeem(minted[0] as string)).toBeNull();
    expect(redeem(minted[1] as string)).toBe(1);
    expect(redeem(minted[1] as string)).toBeNull();
    now = 599_999;
    expect(redeem(minted[2] as string)).toBe(2);
    const later = mint(999, minted[2] as string);
    now = 600_000;
    expect(redeem(minted[3] as string)).toBeNull();
    // Ten minutes of idleness, not of age: the page in between began them anew.
    now = 1_199_998;
    expect(redeem(later)).toBe(999);
  },
);

verifies(["MGT-43", "MGT-109"], "a continuation that is drawn twice is drawn again", () => {
  const bytes = [1, 1, 2].map((byte) => Buffer.alloc(32, byte));
  const { mint, redeem } = createContinuations<string>(
    () => bytes.shift() as Buffer,
    () => 0,
  );
  const [first, second] = [mint("first", null), mint("second", null)];
  expect(first).not.toBe(second);
  expect([redeem(first), redeem(second)]).toEqual(["first", "second"]);
});

verifies("MGT-109", "the next continuation is another than the one that was just spent", () => {
  const bytes = [1, 1, 1, 2].map((byte) => Buffer.alloc(32, byte));
  const { mint, redeem } = createContinuations<string>(
    () => bytes.shift() as Buffer,
    () => 0,
  );
  const first = mint("first", null);
  expect(redeem(first)).toBe("first");
  const next = mint("rest", first);
  expect(next).not.toBe(first);
  expect(redeem(first)).toBeNull();
  expect(redeem(next)).toBe("rest");
});

verifies(
  ["MGT-43", "MGT-109"],
  "whatever a repeating source draws, each live continuation leads to its own snapshot, once",
  () => {
    const steps = fc.array(fc.record({ draws: fc.array(fc.nat(7), { maxLength: 20 }), redeem: fc.nat(7) }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(steps, (plan) => {
        let draws: ReadonlyArray<number> = [];
        let fresh = 8;
        const random = (byteCount: number): Buffer => {
          const [next = fresh++, ...rest] = draws;
          draws = rest;
          return Buffer.alloc(byteCount, Buffer.from([next, next >> 8]));
        };
        const { mint, redeem } = createContinuations<number>(random, () => 0);
        const live = new Map<string, number>();
        plan.forEach((step, i) => {
          ({ draws } = step);
          const minted = mint(i, null);
          expect(live.has(minted)).toBe(false);
          expect(minted).toMatch(/^[A-Za-z0-9_-]{43}$/);
          live.set(minted, i);
          const chosen = [...live.keys()][step.redeem];
          if (chosen === undefined) return;
          expect(redeem(chosen)).toBe(live.get(chosen));
          expect(redeem(chosen)).toBeNull();
          live.delete(chosen);
        });
        for (const [continuation, i] of live) expect(redeem(continuation)).toBe(i);
      }),
    );
  },
);
