// The oracle of the fault rounds can fail: stores that break one law each, beside stores that keep all of them.

import { describe, expect, test } from "vitest";
import type { PostId } from "@social-harness/protocol/identity/Identifier";
import * as Books from "@social-harness/testkit/faults/Books";
import type { Disk, StoredConversation, Vote } from "@social-harness/testkit/faults/Disk";
import * as DiskLaws from "@social-harness/testkit/faults/DiskLaws";
import { Faults } from "@social-harness/testkit/faults/Fault";
import type { Journal } from "@social-harness/testkit/faults/Journal";

const names = ["ada", "bob", "cyd"];

const voteOf = (signer: string, more: Partial<Vote> = {}): Vote => ({
  signer,
  conversationId: names.join(),
  kind: "durability",
  height: 0,
  round: 0,
  recordHash: "r0",
  signature: `${signer} on r0`,
  ...more,
});

const conversation: StoredConversation = {
  conversationId: names.join(),
  names,
  headHeight: 0,
  records: [{ height: 0, recordHash: "r0", author: "ada", postId: "p0" }],
  admitted: ["r0"],
  pending: [],
  held: [],
  queued: [],
};

/** A group of three in which ada's one post is certified everywhere. An agent's id is its name here. */
const diskOf = (name: string): Disk => ({
  name,
  agentId: name,
  conversations: [{ ...conversation, admitted: name === "ada" ? [] : ["r0"] }],
  cores: new Set(["r0"]),
  authors: new Map([["r0", "ada"]]),
  ownVotes: [voteOf(name)],
  shownVotes: names.map((signer) => voteOf(signer)),
  intents:
    name === "ada" ? [{ conversationId: names.join(), postId: "p0", outcome: "certified", key: "k0" }] : [],
  tokens: name === "ada" ? [] : [{ token: `${name} t0`, recordHash: "r0", isAcknowledged: true }],
  items: [],
  holds: [],
  outbox: 0,
  lostAt: null,
});

type Journals = ReadonlyMap<string, Journal>;

const journalOf = (name: string, { isDone = true, postId = "p0" } = {}): Journal => ({
  entries: () => [
    {
      token: `${name} t0` as never,
      digest: "",
      conversation: Books.conversationOf(names),
      author: "ada",
      postId: postId as PostId,
    },
  ],
  entryOf: () => undefined,
  isAsked: () => isDone,
  isDone: () => isDone,
  write: () => undefined,
});

const hosts: Journals = new Map([
  ["bob", journalOf("bob")],
  ["cyd", journalOf("cyd")],
]);

const booksOf = (...postIds: ReadonlyArray<string>): Books.Books => {
  const books = Books.create();
  postIds.forEach((postId, number) =>
    books.enter(names, {
      author: "ada",
      key: `k${number}`,
      text: "",
      postId: postId as PostId,
      burst: number,
    }),
  );
  return books;
};

interface Case {
  readonly disks?: ReadonlyArray<Disk>;
  readonly books?: Books.Books;
  readonly journals?: Journals;
}

const sound = names.map(diskOf);
/** The sound disks, with some fields of bob's replaced. */
const withBob = (change: Partial<Disk>): ReadonlyArray<Disk> =>
  sound.map((disk) => (disk.name === "bob" ? { ...disk, ...change } : disk));
const withBobsChain = (change: Partial<StoredConversation>): ReadonlyArray<Disk> =>
  withBob({ conversations: [{ ...conversation, ...change }] });

const verdictOf = ({
  disks = sound,
  books = booksOf("p0"),
  journals = hosts,
}: Case): ReadonlyArray<string> => {
  const faults = new Faults();
  DiskLaws.askAlways({ early: disks, late: disks }, books, journals, faults);
  DiskLaws.askSettled(disks, books, journals, faults);
  return faults.sentences;
};

const broken: Readonly<Record<string, readonly [Case, says: string]>> = {
  "two durability votes in a slot": [
    { disks: withBob({ ownVotes: [voteOf("bob"), voteOf("bob", { recordHash: "r9" })] }) },
    "conflicting votes",
  ],
  "a conflicting vote that only another member shows": [
    { disks: withBob({ shownVotes: [voteOf("cyd", { recordHash: "r9" })] }) },
    "conflicting votes",
  ],
  "an own and another one's proposal voted for in a group": [
    {
      disks: withBob({
        ownVotes: [
          voteOf("bob"),
          voteOf("bob", { kind: "action" }),
          voteOf("bob", { kind: "action", recordHash: "r9" }),
        ],
        authors: new Map([["r9", "bob"]]),
      }),
    },
    "conflicting votes",
  ],
  "a vote that its signer forgot": [{ disks: withBob({ ownVotes: [] }) }, "does not hold"],
  "a durability vote without its record": [
    { disks: withBob({ cores: new Set() }) },
    "is on its disk, and it is not",
  ],
  "another record at the same height": [
    { disks: withBobsChain({ records: [{ height: 0, recordHash: "r9", author: "ada", postId: "p9" }] }) },
    "two records are certified",
  ],
  "a hole in a chain": [
    { disks: withBobsChain({ records: [{ height: 1, recordHash: "r0", author: "ada", postId: "p0" }] }) },
    "a hole",
  ],
  "a missing item": [{ disks: withBobsChain({ admitted: [] }) }, "bob has other items"],
  "a doubled item": [{ disks: withBobsChain({ pending: ["r0"] }) }, "bob has other items"],
  "a certified post whose intent is open": [
    { disks: [{ ...diskOf("ada"), intents: [] }, diskOf("bob"), diskOf("cyd")] },
    "never meant",
  ],
  "a post without its key": [
    {
      disks: [
        { ...diskOf("ada"), intents: diskOf("ada").intents.map((intent) => ({ ...intent, key: null })) },
        diskOf("bob"),
        diskOf("cyd"),
      ],
    },
    "without the key",
  ],
  "an answered post that is gone": [{ books: booksOf("p0", "p1") }, "ada lost the post"],
  "a post under another id than was answered": [{ books: booksOf("p7") }, "ada lost the post"],
  "posts in another order than they were sent": [
    {
      disks: withBobsChain({
        records: ["p1", "p0"].map((postId, height) => ({ height, recordHash: "r", author: "ada", postId })),
      }),
      books: booksOf("p0", "p1"),
    },
    "reordered",
  ],
  "posts that nobody sent": [{ books: booksOf() }, "other posts"],
  "an acknowledgment that was forgotten": [
    { disks: withBob({ tokens: [{ token: "bob t0", recordHash: "r0", isAcknowledged: false }] }) },
    "forgot that bob t0 was acknowledged",
  ],
  "an acknowledgment that nobody gave": [
    { journals: new Map([...hosts, ["bob", journalOf("bob", { isDone: false })]]) },
    "by itself",
  ],
  "a token that was lost": [{ disks: withBob({ tokens: [] }) }, "lost the token"],
  "a host that was handed another post": [
    { journals: new Map([...hosts, ["bob", journalOf("bob", { postId: "p9" })]]) },
    "the host of bob",
  ],
  "a host that was handed nothing": [
    { journals: new Map([...hosts, ["bob", { ...journalOf("bob"), entries: () => [] }]]) },
    "the host of bob",
  ],
  "a post that is held and has an item too": [
    { disks: withBobsChain({ held: ["r0"] }) },
    "bob has other items",
  ],
  "a post that is queued and has an item too": [
    { disks: withBobsChain({ queued: ["r0"] }) },
    "bob has other items",
  ],
  "an envelope that never left": [{ disks: withBob({ outbox: 1 }) }, "envelopes to send"],
  "an endpoint that finds its memory lost": [{ disks: withBob({ lostAt: "1" }) }, "an old copy"],
};

describe("the laws of the disks", () => {
  test("sound stores break none", () => {
    expect(verdictOf({})).toEqual([]);
  });

  test("two members: the vote inside an own proposal stands beside one lock vote, and a second one does not", () => {
    const pair = ["ada", "bob"];
    const votes = [
      voteOf("ada", { kind: "action" }),
      voteOf("ada", { kind: "action", recordHash: "r1", signature: "ada on r1" }),
    ];
    const disks = (own: ReadonlyArray<Vote>): ReadonlyArray<Disk> =>
      pair.map((name) => ({
        ...diskOf(name),
        conversations: [{ ...conversation, names: pair, admitted: name === "ada" ? [] : ["r0"] }],
        authors: new Map([
          ["r0", "ada"],
          ["r1", "bob"],
          ["r2", "bob"],
        ]),
        ownVotes: name === "ada" ? [voteOf("ada"), ...own] : [voteOf("bob")],
        shownVotes: [],
      }));
    const faultsOf = (own: ReadonlyArray<Vote>): ReadonlyArray<string> => {
      const faults = new Faults();
      DiskLaws.askAlways({ early: disks(own), late: disks(own) }, booksOf("p0"), new Map(), faults);
      return faults.sentences;
    };
    expect(faultsOf(votes)).toEqual([]);
    const second = voteOf("ada", { kind: "action", recordHash: "r2", signature: "ada on r2" });
    expect(faultsOf([...votes, second]).join()).toContain("conflicting votes");
  });

  test.each(Object.entries(broken))("%s is seen", (_, [stores, says]) => {
    expect(verdictOf(stores).join("\n")).toContain(says);
  });
});
