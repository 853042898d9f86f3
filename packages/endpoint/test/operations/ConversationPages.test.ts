// Paging through conversations beside a reference model: random sets of direct and group addresses, of every size around a
// page, after any bound, whether or not it is there.

import { initial } from "@social-harness/protocol/conversation/State";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Chains from "@social-harness/testkit/Chains";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import * as ConversationRows from "../../src/conversations/ConversationRows.ts";
import { searchConversations } from "../../src/operations/History.ts";
import { OperationError } from "../../src/operations/OperationError.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

/** Names that stand close together in byte order: prefixes of each other, digits, dashes. */
const names = [
  ...Array.from({ length: 70 }, (_, i) => `peer-${(i * 37) % 70}`),
  ..."aaa aaa-b aaa0 aaaa zzz z-1 0-0 000".split(" "),
];

const { actors, records } = Chains.chain(["ann", "bob"], [{ author: "ann", text: "hello" }]);
const self = actors[0]?.card.agentId as AgentId;
const [{ recordHash, recordCore }] = records as [Chains.Chain["records"][number]];
const head = { height: 0, recordHash, anchorHash: recordCore.anchorHash };

/** A store with a conversation for every one of 130 memberships, none of them certified, and a hand on that. */
const universe = () => {
  const db = temporaryStore();
  const cards = new Map(["ann", ...names].map((name) => [name, Chains.actor(name).card]));
  const memberships = [
    ...names.map((name) => ["ann", name]),
    ...names.slice(2, 54).map((name, i) => ["ann", name, ...names.slice(54, 55 + (i % 4))]),
  ];
  const conversations = db.transaction(() =>
    memberships.map((membership) => {
      const members = Membership.ofCards(membership.map((name) => cards.get(name) as never));
      return ConversationRows.create(db, members, self);
    }),
  );
  return {
    db,
    addresses: conversations.map(({ address }) => address as string),
    /** Exactly these conversations have a certified GENESIS from now on. */
    certify: (places: ReadonlySet<number>): void =>
      db.transaction(() =>
        conversations.forEach((conversation, place) =>
          ConversationRows.save(db, {
            ...conversation,
            state: places.has(place) ? { ...initial, head } : initial,
          }),
        ),
      ),
  };
};

const bytewise = (left: string, right: string): number =>
  Buffer.compare(Buffer.from(left), Buffer.from(right));

/** What one page must be, said as plainly as it can be. */
const modelOf = (certified: ReadonlyArray<string>, after: string | undefined) => {
  const following = certified
    .toSorted(bytewise)
    .filter((one) => after === undefined || bytewise(one, after) > 0);
  return { kind: "page", addresses: following.slice(0, 50), hasMore: following.length > 50 };
};

verifies(
  ["MGT-32", "MGT-33", "MGT-34", "MGT-107"],
  "a page of conversations is what the model says, for any set and any bound, and following pages are the whole",
  () => {
    const { db, addresses, certify } = universe();
    expect(new Set(addresses).size).toBe(130);
    const bounds = fc.oneof(
      fc.constant(undefined),
      fc.constantFrom(...addresses),
      fc.constantFrom(
        "agent:aa0",
        "agent:peer-10x",
        "agent:zzzz",
        "group:000,0000,00000",
        "group:zzx,zzy,zzz",
      ),
    );
    const sizes = fc.oneof(fc.constantFrom(0, 1, 49, 50, 51, 99, 100, 101, 130), fc.nat(130));
    const subsets = sizes.chain((size) => fc.uniqueArray(fc.nat(129), { minLength: size, maxLength: size }));
    fc.assert(
      fc.property(subsets, fc.array(bounds, { minLength: 1, maxLength: 12 }), (places, afters) => {
        const chosen = new Set(places);
        certify(chosen);
        const certified = addresses.filter((_, place) => chosen.has(place));
        for (const after of afters) expect(searchConversations(db, after)).toEqual(modelOf(certified, after));
        const pages = [searchConversations(db, undefined)];
        for (let last = pages[0]; last?.hasMore === true; last = pages.at(-1)) {
          pages.push(searchConversations(db, last.addresses.at(-1)));
        }
        const all = pages.flatMap((page) => page.addresses);
        expect(all).toEqual(certified.toSorted(bytewise));
        expect(pages.length).toBe(Math.max(1, Math.ceil(certified.length / 50)));
      }),
      { numRuns: 60 },
    );
  },
);

verifies("MGT-107", "a page has its three fields, and a group's address all of its members in order", () => {
  const { db, certify } = universe();
  certify(new Set(Array.from({ length: 130 }, (_, place) => place)));
  const page = searchConversations(db, "agent:zzz");
  expect(Object.keys(page).toSorted()).toEqual(["addresses", "hasMore", "kind"]);
  expect(page.addresses).toHaveLength(50);
  for (const address of page.addresses) {
    const members = address.slice("group:".length).split(",");
    expect(members).toContain("ann");
    expect(members).toEqual(members.toSorted(bytewise));
  }
});

verifies("MGT-34", "a bound that is no canonical address is invalid-address, never the first page", () => {
  const { db, certify } = universe();
  certify(new Set([1, 2]));
  const bounds = [
    "",
    "peer-1",
    "agent:",
    "agent:Peer",
    "agent:ab",
    " agent:bob",
    "agent:bob ",
    "agent:bob,ann",
    "AGENT:bob",
    "group:bob,ann,cyd",
    "group:ann,ann,bob",
    "group:ann,bob",
    "group:ann,bob,cyd,",
    "group:ann, bob,cyd",
    "agent:bоb",
    "agent:bob\0",
    "%61gent:bob",
  ];
  for (const bound of bounds) {
    let failure: unknown;
    try {
      searchConversations(db, bound);
    } catch (error) {
      failure = error;
    }
    expect(failure, bound).toBeInstanceOf(OperationError);
    expect(failure, bound).toMatchObject({ reason: "invalid-address" });
  }
});
