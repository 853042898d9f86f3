// What `status` tells a person of an endpoint that does not do what it is for.

import { expect } from "vitest";
import { PostId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Health } from "../../src/daemon/Readiness.ts";
import * as Output from "../../src/Output.ts";
import { waitsIn, type Waits } from "../../src/daemon/Sending.ts";
import { standingLines } from "../../src/text/Standing.ts";

const output: Output.Output = { ...Output.create(false), style: (_style, text) => text };
const healthy: Health = {
  registered: true,
  routerConnected: true,
  routerSince: null,
  routerTrouble: null,
  routerRefusing: null,
  routerEquivocations: 0,
  storeTrouble: null,
  routerChanged: null,
  conversationsChanging: 0,
  restored: null,
  pendingItems: 0,
  firewall: null,
  webhook: null,
  pendingPosts: 0,
  pendingAddresses: [],
  withdrawingPosts: 0,
  pending: [],
  outboxEnvelopes: 0,
  registryUrl: "https://registry.example",
  routerUrl: "wss://router.example",
  contacts: "everyone",
  blocked: [],
};

verifies("RUN-17", "status says what waits, what is unread and that the Router was caught", () => {
  expect(standingLines(output, healthy, {})).toEqual([
    "Router   connected",
    "Pending  no posts",
    "Inbox    nothing waits",
    "Contacts everyone",
  ]);
  const pendingAddresses = ["bob", "cyd", "dan", "eve", "fay", "gus"].map((name) => `agent:${name}`);
  const lines = standingLines(
    output,
    {
      ...healthy,
      routerEquivocations: 1,
      pendingItems: 1,
      pendingPosts: 7,
      pendingAddresses,
    },
    { state: "./my ada" },
  );
  expect(lines.slice(1)).toEqual([
    "Caught   it signed two orders for 1 place; the proofs are kept: `social-harness evidence --state './my ada'`",
    "Pending  7 posts, to agent:bob agent:cyd agent:dan agent:eve agent:fay, ...",
    "Inbox    1 item unread",
    "Contacts everyone",
  ]);
});

verifies(
  ["ING-167", "ING-224"],
  "status says what is held, also by a firewall that is gone, and what is wrong with its file",
  () => {
    const linesOf = (firewall: Health["firewall"]) =>
      standingLines(output, { ...healthy, firewall }, {}).slice(3, -1);
    const usable = { file: "usable", explanation: null, heldItems: 0, queuedItems: 0 } as const;
    const explanation = "rule 1: expected\u001b[2J";
    expect([
      linesOf(null),
      linesOf(usable),
      linesOf({ ...usable, heldItems: 2, queuedItems: 1 }),
      linesOf({ ...usable, explanation }),
      linesOf({ ...usable, file: "absent", heldItems: 9 }),
      linesOf({ file: "unusable", explanation, heldItems: 1, queuedItems: 0 }),
    ]).toEqual([
      [],
      ["Firewall nothing held"],
      ["Firewall 2 messages held: `social-harness hold list`; 1 being judged"],
      ["Firewall the checker is not complete; nothing held", "         rule 1: expected\\u{1b}[2J"],
      ["Firewall no firewall.json; 9 messages held: `social-harness hold list`"],
      [
        "Firewall firewall.json cannot be used; 1 message held: `social-harness hold list`",
        "         rule 1: expected\\u{1b}[2J",
      ],
    ]);
  },
);

verifies(
  "RUN-17",
  "status says why the Router is not connected, and of the first attempt that it is under way",
  () => {
    const away = { ...healthy, routerConnected: false };
    expect(standingLines(output, away, {})[0]).toBe("Router   not connected: still trying");
    const routerTrouble = { reason: "unreachable", explanation: "no such host\u001b[2J" };
    expect(standingLines(output, { ...away, routerTrouble }, {})[0]).toBe(
      "Router   not connected: no such host\\u{1b}[2J",
    );
  },
);

verifies(
  "RUN-72",
  "status says that the folder was an old copy, how many have yet to recover, and that it is over",
  () => {
    const of = (conversations: number, addresses: ReadonlyArray<string>): ReadonlyArray<string> => {
      const restored = {
        at: "2026-07-28T00:00:00.000Z",
        conversations,
        addresses,
        explanation: "an old copy",
      };
      return standingLines(output, { ...healthy, restored }, {}).slice(1, -3);
    };
    expect(of(2, ["agent:bob", "agent:cyd"])).toEqual([
      expect.stringMatching(/^Restored 2 conversations yet to recover, found .*: an old copy$/),
      "         agent:bob",
      "         agent:cyd",
    ]);
    expect(of(3, ["agent:bob"])).toEqual([
      expect.stringMatching(/^Restored 3 conversations yet to recover, found /),
      "         agent:bob",
      "         2 more",
    ]);
    expect(of(0, [])).toEqual([
      expect.stringMatching(/^Restored all known conversations recovered, found .*: an old copy$/),
    ]);
  },
);

verifies("RUN-17", "status says how the Router changed while that matters", () => {
  const routerChanged = {
    reason: "another-instance",
    at: "2026-07-28T00:00:00.000Z",
    explanation: "it began anew",
  };
  const of = (more: Partial<Health>): ReadonlyArray<string> =>
    standingLines(output, { ...healthy, routerChanged, ...more }, { state: "x" }).slice(1, -3);
  expect(of({})).toEqual([]);
  expect(of({ conversationsChanging: 2 })).toEqual([
    expect.stringMatching(/^Its log {2}began anew .*: it began anew$/),
    "Rounds   2 conversations yet to go on in a new round",
  ]);
  expect(
    of({ routerChanged: { ...routerChanged, reason: "rolled-back", explanation: "`social-harness move`" } }),
  ).toEqual([expect.stringMatching(/^Its log {2}went back .*: `social-harness move --state x`$/)]);
});

verifies("RUN-292", "no two lines of status have one name, and none shows a word for programs", () => {
  const everything = {
    ...healthy,
    routerEquivocations: 2,
    routerChanged: {
      reason: "another-instance",
      at: "2026-07-28T00:00:00.000Z",
      explanation: "it began anew",
    },
    conversationsChanging: 1,
    restored: { at: "2026-07-28T00:00:00.000Z", conversations: 0, addresses: [], explanation: "an old copy" },
    storeTrouble: { reason: "full", since: "2026-07-28T00:00:00.000Z", explanation: "make room" },
  };
  const lines = standingLines(output, everything, {});
  const names = lines.map((line) => line.slice(0, 9).trim()).filter((name) => name !== "");
  expect(names).toEqual([...new Set(names)]);
  expect(lines.join("\n")).not.toMatch(/another-instance|rolled-back/);
  // A reason of a later daemon is shown as it is.
  const routerChanged = { ...everything.routerChanged, reason: "melted" };
  expect(standingLines(output, { ...everything, routerChanged }, {}).join("\n")).toContain("melted");
});

const postId = PostId.fromBytes(Buffer.alloc(32, 1));
const post: Health["pending"][number] = {
  postId,
  address: "agent:bob",
  withdrawing: false,
  recovering: false,
  unsigned: null,
};

verifies("RUN-17", "status says what each of the newest pending posts waits for", () => {
  const of = (...pending: Health["pending"]): ReadonlyArray<string> =>
    standingLines(
      output,
      {
        ...healthy,
        pendingPosts: pending.length,
        pendingAddresses: ["agent:bob"],
        withdrawingPosts: pending.filter(({ withdrawing }) => withdrawing).length,
        pending,
      },
      {},
    ).slice(1, -2);
  const unsigned = ["cyd", "dan"] as never;
  expect(
    of(
      post,
      { ...post, unsigned },
      { ...post, unsigned, withdrawing: true },
      { ...post, unsigned: [] },
      { ...post, unsigned, recovering: true },
    ),
  ).toEqual([
    "Pending  5 posts, to agent:bob; 1 being withdrawn",
    `         ${postId} to agent:bob: not proposed yet`,
    `         ${postId} to agent:bob: not signed yet by cyd, dan`,
    `         ${postId} to agent:bob: not signed yet by cyd, dan; being withdrawn`,
    `         ${postId} to agent:bob: signed by all`,
    `         ${postId} to agent:bob: its conversation has yet to recover`,
  ]);
  expect(of(...Array.from({ length: 9 }, () => post))).toHaveLength(6);
});

verifies("RUN-81", "a pending send says what its own conversation waits for, and nothing of others", () => {
  const restored = {
    at: "2026-07-28T00:00:00.000Z",
    conversations: 1,
    addresses: ["agent:cyd"],
    explanation: "an old copy",
  };
  const other = { ...post, postId: PostId.fromBytes(Buffer.alloc(32, 2)), recovering: true };
  const of = (own: Partial<typeof post> | null, more: Partial<Health> = {}): Waits =>
    waitsIn(
      { ...healthy, restored, pending: own === null ? [other] : [other, { ...post, ...own }], ...more },
      postId,
    );
  const generic =
    "it goes out by itself when the network and enough members can be reached; do not send it again.";
  for (const waits of [of(null), waitsIn(null, postId)]) {
    expect(waits).toEqual({ recovering: false, withdrawing: false, unsigned: null, explanation: generic });
  }
  expect(of({ unsigned: ["bob"] as never })).toEqual({
    recovering: false,
    withdrawing: false,
    unsigned: ["bob"],
    explanation:
      "it goes out by itself when enough members can be reached; not signed yet by bob; do not send it again.",
  });
  expect(of({ recovering: true })).toMatchObject({
    recovering: true,
    explanation: "it is kept, and goes out when its conversation has recovered: an old copy.",
  });
  expect(of({ withdrawing: true }).explanation).toBe("it is being withdrawn.");
  const routerTrouble = { reason: "unreachable", explanation: "connection refused" };
  expect(of({}, { routerConnected: false, routerTrouble }).explanation).toBe(
    "it goes out by itself when the Router is connected again (connection refused); do not send it again.",
  );
});

verifies(
  "RUN-276",
  "that the Router takes nothing stands in its line, and in what a pending send waits for",
  () => {
    const routerRefusing = { since: "2026-01-02T03:04:05.000Z", explanation: "it refuses every post" };
    const refusing = { ...healthy, routerRefusing };
    expect(standingLines(output, refusing, {})[0]).toMatch(
      /^Router {3}connected, and takes nothing since .*: it refuses every post$/,
    );
    expect(waitsIn({ ...refusing, pending: [post] }, post.postId).explanation).toBe(
      "the Router takes nothing at the moment: it refuses every post; do not send it again.",
    );
  },
);
