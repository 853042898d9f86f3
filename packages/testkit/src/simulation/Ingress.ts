// From commit to inbox in earnest: each honest member of a run has a real endpoint store beside its disk, in which each of
// its turns is written or lost at some point, and a host that reads from it. The same seed gives the same tokens.

import { hash } from "node:crypto";
import type { Random as RandomBytes } from "@social-harness/endpoint/ingress/Inbox";
import type { Contents } from "./Contents.ts";
import {
  differenceFrom,
  type End,
  type EndpointStore,
  open,
  reopened,
  standingOf,
  write,
} from "./EndpointStore.ts";
import type { Fate, Member, World } from "./FoldWorld.ts";
import { createHost, type Desk } from "./Host.ts";
import { createInboxOracle } from "./InboxBook.ts";
import { createRandom, mix } from "./Random.ts";
import { violate } from "./Violation.ts";

/** A copy of a store, and of what its inbox must be. */
export type StoreBackup = Pick<Desk, "store" | "book">;

export interface Ingress {
  readonly desks: ReadonlyArray<Desk>;
  /** What hosts do in a step depends on nothing but the seed and the step's number. */
  readonly onStep: (step: number) => void;
  readonly backUp: (member: Member) => StoreBackup;
  readonly putBack: (member: Member, backup: StoreBackup) => void;
  /** What must stand in the stores and inboxes when a run is over. */
  readonly askEnd: () => void;
  readonly close: () => void;
}

export interface IngressOptions {
  readonly world: World;
  readonly honest: ReadonlyArray<Member>;
  readonly seed: number;
  readonly contents: Contents;
  readonly note: (line: string) => void;
}

/** Bytes that nobody draws twice in a run, whatever becomes of the turn that drew them. */
const createRandomBytes = (seed: number): RandomBytes => {
  let draws = 0;
  return (byteCount) => hash("sha512", `ingress ${seed} ${draws++}`, "buffer").subarray(0, byteCount);
};

export const createIngress = ({ world, honest, seed, contents, note }: IngressOptions): Ingress => {
  const random = createRandom(mix(seed, 0x1b0c5));
  const randomBytes = createRandomBytes(seed);
  const prior = new Set(honest.flatMap(({ disk }) => disk.records.map(({ recordHash }) => recordHash)));
  const oracle = createInboxOracle(world, contents, prior);
  /** Stores in memory that have yet to be closed, copies that may be put back among them. */
  const opened = new Set<EndpointStore>();
  const kept = (store: EndpointStore): EndpointStore => {
    opened.add(store);
    return store;
  };
  const close = (store: EndpointStore): void => {
    if (opened.delete(store)) store.db.close();
  };
  const desks = new Map(
    honest.map((member): readonly [number, Desk] => [
      member.index,
      {
        member,
        store: kept(open(world, member, randomBytes)),
        book: [],
        seen: [],
        marks: [],
        lost: [],
        zeal: random.pick([0, 0.01, 0.3, 1]),
      },
    ]),
  );
  const all = [...desks.values()];
  const host = createHost({ oracle, random, note, desks: () => all });

  const endOf = (fate: Fate): End => {
    switch (fate) {
      case "commits":
        return "commit";
      case "dies":
        return random.pick(["before-classification", "after-classification"]);
      case "refused":
        return random.pick(["full", "before-classification", "after-classification"]);
    }
  };

  const replace = (desk: Desk, { store, book }: StoreBackup): void => {
    close(desk.store);
    desk.store = kept(store);
    desk.book = book;
  };

  const reopen = (desk: Desk): void => replace(desk, { store: reopened(desk.store), book: desk.book });

  world.beside = {
    turn: (turn, fate) => {
      const desk = desks.get(turn.member.index);
      if (desk === undefined) return;
      const { store, member } = desk;
      const end = endOf(fate);
      const before = end === "commit" ? null : standingOf(store);
      const remarks = write(store, turn, world.now + member.clockOffsetMs, end);
      if (remarks !== null) desk.book = oracle.take(desk.book, store.db, turn, remarks);
      if (before !== null && before !== standingOf(store))
        violate("store", `a turn that came to nothing left something in the store of member ${member.index}`);
    },
    started: ({ index }) => {
      const desk = desks.get(index);
      if (desk !== undefined) reopen(desk);
    },
  };
  /** A host does something, or finds that its endpoint has just started again. */
  const actOnce = (): void => {
    const desk = random.pick(all);
    const { member } = desk;
    if (!member.up || world.refuses(member)) return;
    if (random.chance(0.03)) {
      note(`${member.index}'s store is opened again`);
      reopen(desk);
    } else host.act(desk);
  };
  world.onCommitted.push(() => {
    if (random.chance(0.2)) actOnce();
  });

  return {
    desks: all,
    onStep: (step) => {
      random.reseed(mix(seed, step, 0x1b0c5));
      actOnce();
    },
    backUp: ({ index }) => {
      const { store, book } = desks.get(index) as Desk;
      return { store: kept(reopened(store)), book };
    },
    putBack: ({ index }, { store, book }) => {
      const desk = desks.get(index) as Desk;
      replace(desk, { store: reopened(store), book });
      const isKept = (token: string): boolean => book.some((entry) => entry.token === token);
      desk.lost = [...desk.lost, ...desk.seen.filter((token) => !isKept(token))];
      desk.seen = [];
      desk.marks = [];
    },
    askEnd: () => {
      for (const desk of all) {
        const difference = differenceFrom(desk.store, desk.member.disk);
        if (difference !== null)
          violate("store", `the store of member ${desk.member.index} holds ${difference} than its disk`);
        host.readAll(desk);
      }
    },
    close: () => {
      for (const store of opened) close(store);
    },
  };
};
