// The ingress beside the fold: what a quiet world brings to its hosts, stores that lose turns at every point, and proof that
// the oracles can see: each time one thing is broken, and the oracle that must object does.

import { describe, expect, test } from "vitest";
import * as Inbox from "@social-harness/endpoint/ingress/Inbox";
import type { Item } from "@social-harness/protocol/delivery/Item";
import type { Content } from "@social-harness/protocol/history/Content";
import { verifies } from "@social-harness/testkit/Verifies";
import { createAgents } from "@social-harness/testkit/simulation/Agents";
import { calm } from "@social-harness/testkit/simulation/Calm";
import { openConversation } from "@social-harness/testkit/simulation/Certify";
import { type Contents, createContents } from "@social-harness/testkit/simulation/Contents";
import { standingOf } from "@social-harness/testkit/simulation/EndpointStore";
import { createWorld, type Fate, type World } from "@social-harness/testkit/simulation/FoldWorld";
import type { Desk } from "@social-harness/testkit/simulation/Host";
import { createIngress, type Ingress } from "@social-harness/testkit/simulation/Ingress";
import { simulate } from "@social-harness/testkit/simulation/Simulation";

interface Stage {
  readonly world: World;
  readonly ingress: Ingress;
  /** Has posts certified, and says what an oracle objects to. */
  readonly post: (index: number, ...said: ReadonlyArray<string | Content>) => string | null;
  readonly desk: (index: number) => Desk;
  readonly end: () => string | null;
}

const objectionTo = (body: () => unknown): string | null => {
  try {
    body();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const stageOf = (n: number, contents: Contents = createContents(1)): Stage => {
  const { agents, registry, verifier } = createAgents(n, "ingress", false);
  const world = createWorld({ agents, trust: { verifier, registryKey: registry.publicKey } });
  openConversation(world);
  const ingress = createIngress({ world, honest: world.all, seed: 1, contents, note: () => undefined });
  return {
    world,
    ingress,
    post: (index, ...said) =>
      objectionTo(() => {
        for (const one of said) world.submit(index, one);
        calm(world, { horizonMs: 60_000 });
      }),
    desk: (index) => ingress.desks[index] as Desk,
    end: () => objectionTo(ingress.askEnd),
  };
};

/** What a member's host finds unread, post by post. */
const unreadOf = ({ store }: Desk): ReadonlyArray<unknown> =>
  Inbox.page(store.db).items.map(({ item }) =>
    item.kind === "multicast" ? item.message.content : item.kind,
  );

describe("in a quiet world", () => {
  verifies(["ING-01", "ING-04", "ING-12"], "each other member gets each post once, in chain order", () => {
    const { post, desk, end } = stageOf(3);
    expect(post(0, "one", "two")).toBeNull();
    expect(post(1, "three")).toBeNull();
    const texts = [desk(0), desk(1), desk(2)].map(({ book }) =>
      book.map(({ text }) => /"text":"(\w+)"/.exec(text)?.[1]),
    );
    expect(texts).toEqual([["three"], ["one", "two"], ["one", "two", "three"]]);
    expect(end()).toBeNull();
  });

  verifies(["ING-03", "ING-07"], "hosts read what is left of every sort of post", () => {
    const contents = createContents(1);
    const { post, desk, end } = stageOf(2, contents);
    const said = Array.from({ length: 40 }, (_, i) => contents.of(`post ${i}`));
    expect(post(0, ...said)).toBeNull();
    const left = said.map(contents.leftOf);
    expect(new Set(left.filter((one) => typeof one === "string")).size).toBe(3);
    expect(desk(1).book.length).toBe(left.filter((one) => typeof one !== "string").length);
    expect(end()).toBeNull();
  });
});

describe("a turn that comes to nothing", () => {
  const fates: ReadonlyArray<Exclude<Fate, "commits">> = ["dies", "refused"];
  for (const fate of fates) {
    verifies(["ING-09", "HIS-34"], `leaves nothing in the store when it is one that ${fate}`, () => {
      const { world, post, desk, end } = stageOf(2);
      const before = standingOf(desk(1).store);
      let left = 12;
      const strikes = ({ index }: { readonly index: number }): boolean => index === 1 && left-- > 0;
      if (fate === "dies") world.dies = strikes;
      else world.refuses = strikes;
      expect(post(0, "one")).toBeNull();
      expect(standingOf(desk(1).store)).toBe(before);
      for (let starts = 0; starts < 14; starts++) {
        world.restart(1);
        world.connect(1);
        expect(post(0)).toBeNull();
      }
      expect(unreadOf(desk(1))).toEqual([[{ type: "text", text: "one" }]]);
      expect(end()).toBeNull();
    });
  }
});

describe("an older copy of a store", () => {
  verifies("ING-11", "gets what it has lost once more, under other tokens", () => {
    const { world, ingress, post, desk, end } = stageOf(4);
    const member = desk(3).member;
    expect(post(0, "one")).toBeNull();
    const [disk, backup] = [member.disk, ingress.backUp(member)];
    expect(post(0, "two")).toBeNull();
    const before = desk(3).book.map(({ token }) => token);
    world.restore(3, disk);
    ingress.putBack(member, backup);
    expect(desk(3).book).toHaveLength(1);
    world.restart(3);
    expect(post(0, "three")).toBeNull();
    const after = desk(3).book.map(({ token }) => token);
    expect(after).toHaveLength(3);
    expect(after.slice(0, 1)).toEqual(before.slice(0, 1));
    expect(after).not.toContain(before[1]);
    expect(end()).toBeNull();
  });
});

describe("the oracles see", () => {
  const broken = (change: string): string | null => {
    const { post, desk, end } = stageOf(2);
    expect(post(0, "one", "two", "three")).toBeNull();
    const { book, store } = desk(1);
    store.db.run(change, book[1]?.token as string);
    return end();
  };

  verifies("ING-12", "a lost item", () => {
    expect(broken("DELETE FROM inbox WHERE delivery_token = ?")).toMatch(/^page: /);
  });
  verifies("ING-08", "another payload under a token", () => {
    expect(broken("UPDATE inbox SET item = replace(item, 'two', 'owt') WHERE delivery_token = ?")).toMatch(
      /^token: member 1 shows another payload/,
    );
  });
  verifies("ING-20", "another token for an item", () => {
    const other = `dlv_${"A".repeat(43)}`;
    expect(broken(`UPDATE inbox SET delivery_token = '${other}' WHERE delivery_token = ?`)).toMatch(
      /^token: member 1 shows a token that was never minted/,
    );
  });
  verifies("ING-12", "items out of order", () => {
    expect(broken("UPDATE inbox SET sequence = 99 WHERE delivery_token = ?")).toMatch(
      /^page: member 1 shows an item out of its place/,
    );
  });

  verifies("ING-23", "an acknowledged item that comes back", () => {
    const { post, desk, end } = stageOf(2);
    expect(post(0, "one", "two")).toBeNull();
    const token = desk(1).book[0]?.token as never;
    Inbox.acknowledge(desk(1).store.db, token, 0);
    desk(1).book = desk(1).book.map((entry) => ({ ...entry, isAcknowledged: entry.token === token }));
    desk(1).store.db.run("UPDATE inbox SET acknowledged_at = NULL");
    expect(end()).toMatch(
      /^page: member 1 shows an item out of its place, again, or after its acknowledgment/,
    );
  });

  verifies("ING-01", "an item of what nobody certified", () => {
    const { post, desk } = stageOf(2);
    expect(post(0, "one")).toBeNull();
    const { book, store } = desk(1);
    const item = JSON.parse(String(book[0]?.text.replace("one", "never said"))) as Item;
    Inbox.admit(store.db, { item, now: 0, random: store.random });
    expect(post(0, "two")).toMatch(/^(inbox|token|page): member 1 /);
  });

  verifies("ING-04", "an own post that became pending", () => {
    const { post, desk } = stageOf(2);
    expect(post(0, "one")).toBeNull();
    const { store } = desk(0);
    store.hasMore = true;
    store.db.run(
      "INSERT INTO pending (conversation_id, record_hash) SELECT conversation_id, record_hash FROM record",
    );
    expect(post(1, "two")).toMatch(/^inbox: member 0 consumed other posts/);
  });

  verifies("ING-03", "a collective part that reaches a host, and one that keeps a post from it", () => {
    const { of } = createContents(1);
    const strict = stageOf(2, { of, leftOf: () => "collective-unknown" });
    expect(strict.post(0, "one")).toMatch(/^inbox: member 1 consumed other posts/);
    const lax = stageOf(2, { of, leftOf: (content) => content });
    const said = Array.from({ length: 20 }, (_, i) => of(`post ${i}`));
    expect(lax.post(0, ...said)).toMatch(/^inbox: member 1 (admitted another item|consumed other posts)/);
  });

  verifies("HIS-34", "a turn that is only half undone", () => {
    const { world, post, desk } = stageOf(2);
    const { store } = desk(1);
    desk(1).store = { ...store, db: { ...store.db, transaction: (body) => body() } };
    world.dies = ({ index }) => index === 1;
    expect(post(0, "one")).toMatch(/^store: a turn that came to nothing left something/);
  });

  verifies("HIS-65", "a chain on the disk that the store does not hold", () => {
    const { post, desk, end } = stageOf(2);
    expect(post(0, "one")).toBeNull();
    desk(1).store.db.run("PRAGMA foreign_keys = OFF");
    desk(1).store.db.run("DELETE FROM record WHERE height = 1");
    expect(end()).toMatch(/^store: the store of member 1 holds another chain/);
  });
});

describe("a run", () => {
  verifies(
    ["ING-09", "ING-12", "ING-28"],
    "of many posts goes through pages, restarts and lost turns",
    () => {
      const lines: Array<string> = [];
      for (const seed of [5, 33, 70])
        simulate(seed, {}, { scenario: "ingress", print: (line) => lines.push(line) });
      const text = lines.join("\n");
      for (const phrase of ["goes on and reads", "acknowledges", "and the turn is lost", "is opened again"])
        expect(text).toContain(phrase);
    },
  );

  test("holds under every kind of fate, for fixed seeds", () => {
    for (let seed = 1; seed <= 15; seed++) simulate(seed, {}, { scenario: "ingress" });
  });

  verifies("HIS-37", "does the same to the fold as one without hosts", () => {
    const certified = (ingress: boolean): ReadonlyArray<number> =>
      [2, 7, 11].map((seed) => simulate(seed, { ingress }, { scenario: "disks" }).certified);
    expect(certified(true)).toEqual(certified(false));
  });
});
