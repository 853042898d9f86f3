// The inbox against ten lines that say what it is: a list of items, a set of acknowledged ones, and a traversal that
// remembers where it stands and where it ends.

import type { Item } from "@social-harness/protocol/delivery/Item";
import { type DeliveryToken, PostId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import * as Inbox from "../../src/ingress/Inbox.ts";
import { makeStore, seededRandom, type TestStore } from "./CertifiedPosts.ts";

const itemOf = (size: number): Item => ({
  kind: "multicast",
  message: {
    kind: "direct",
    postId: PostId.fromBytes(Buffer.alloc(32, 9)),
    address: "agent:bob" as never,
    sender: "agent:bob" as never,
    content: [{ type: "text", text: "x".repeat(size) }],
  },
});
const emptyBytes = JSON.stringify(itemOf(0)).length;

interface Model {
  readonly admitted: Array<{ readonly token: DeliveryToken; readonly size: number }>;
  readonly acknowledged: Set<DeliveryToken>;
  traversal: { after: number; readonly through: number } | null;
}

interface Real {
  readonly store: TestStore;
  readonly random: Inbox.Random;
  cursor: string | undefined;
}

/** What one page must hold, and where it leaves the traversal. */
const expectedPage = (model: Model, from: { readonly after: number; readonly through: number }) => {
  const left = model.admitted
    .slice(from.after, from.through)
    .map((entry, i) => ({ ...entry, position: from.after + i + 1 }))
    .filter(({ token }) => !model.acknowledged.has(token));
  let bytes = 0;
  const within = (size: number): boolean => (bytes += size + emptyBytes) <= 2_097_152;
  const stop = left.findIndex(({ size }, i) => i === 50 || (!within(size) && i > 0));
  const page = stop === -1 ? left : left.slice(0, stop);
  return { page, next: stop === -1 ? null : { after: page.at(-1)?.position ?? 0, through: from.through } };
};

type Command = fc.Command<Model, Real>;

const admit = (count: number, size: number): Command => ({
  check: () => true,
  run: (model, real) => {
    for (let i = 0; i < count; i++) {
      const token = real.store.db.transaction(() =>
        Inbox.admit(real.store.db, { item: itemOf(size), now: 0, random: real.random }),
      );
      model.admitted.push({ token, size });
    }
  },
  toString: () => `admit(${count} of ${size})`,
});

const read = (continued: boolean): Command => ({
  check: (model) => !continued || model.traversal !== null,
  run: (model, real) => {
    const from = (continued ? model.traversal : null) ?? { after: 0, through: model.admitted.length };
    const page = Inbox.page(real.store.db, continued ? real.cursor : undefined);
    const expected = expectedPage(model, from);
    expect(page.items.map(({ deliveryToken }) => deliveryToken)).toEqual(
      expected.page.map(({ token }) => token),
    );
    expect(page.nextCursor !== undefined).toBe(expected.next !== null);
    model.traversal = expected.next;
    real.cursor = page.nextCursor;
  },
  toString: () => (continued ? "continue" : "read"),
});

const acknowledge = (choice: number, count: number): Command => ({
  check: (model) => model.admitted.length > 0,
  run: (model, real) => {
    for (let i = 0; i < count; i++) {
      const { token } = model.admitted[(choice + i) % model.admitted.length] as Model["admitted"][number];
      real.store.db.transaction(() => Inbox.acknowledge(real.store.db, token, 1));
      model.acknowledged.add(token);
    }
    expect(Inbox.unreadCount(real.store.db)).toBe(model.admitted.length - model.acknowledged.size);
  },
  toString: () => `acknowledge(${count} from ${choice})`,
});

const restart: Command = {
  check: () => true,
  run: (_model, real) => void real.store.reopen(),
  toString: () => "restart",
};

verifies(
  ["ING-25", "ING-26", "ING-27", "ING-28", "ING-29"],
  "the inbox does what its ten-line model does, in any order of calls and restarts",
  () => {
    const commands = fc.commands(
      [
        fc
          .tuple(fc.integer({ min: 1, max: 70 }), fc.constantFrom(0, 10, 40_000, 262_000))
          .map(([count, size]) => admit(size > 1_000 ? Math.min(count, 12) : count, size)),
        fc.constant(read(false)),
        fc.constant(read(true)),
        fc.constant(read(true)),
        fc
          .tuple(fc.nat(), fc.integer({ min: 1, max: 30 }))
          .map(([choice, count]) => acknowledge(choice, count)),
        fc.constant(restart),
      ],
      { maxCommands: 25 },
    );
    fc.assert(
      fc.property(commands, (list) => {
        const store = makeStore();
        // Durability is not the question here, and a flush per row would be most of the time.
        store.db.run("PRAGMA synchronous = OFF");
        try {
          const setup = () => ({
            model: { admitted: [], acknowledged: new Set<DeliveryToken>(), traversal: null } as Model,
            real: { store, random: seededRandom("model"), cursor: undefined } as Real,
          });
          fc.modelRun(setup, list);
        } finally {
          store.remove();
        }
      }),
      { numRuns: 60 },
    );
  },
);
