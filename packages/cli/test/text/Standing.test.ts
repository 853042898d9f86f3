// What `status` tells a person of an endpoint that does not do what it is for.

import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Health } from "../../src/daemon/Readiness.ts";
import * as Output from "../../src/Output.ts";
import { standingLines } from "../../src/text/Standing.ts";

const output: Output.Output = { ...Output.create(false), style: (_style, text) => text };
const healthy: Health = {
  registered: true,
  routerConnected: true,
  routerSince: null,
  routerTrouble: null,
  routerEquivocations: 0,
  routerChanged: null,
  conversationsChanging: 0,
  restored: null,
  pendingItems: 0,
  pendingPosts: 0,
  pendingAddresses: [],
  outboxEnvelopes: 0,
};

verifies("RUN-17", "status says what waits, what is unread and that the Router was caught", () => {
  expect(standingLines(output, healthy)).toEqual([
    "Router   connected",
    "Pending  no posts",
    "Inbox    nothing waits",
  ]);
  const pendingAddresses = ["bob", "cyd", "dan", "eve", "fay", "gus"].map((name) => `agent:${name}`);
  const lines = standingLines(output, {
    ...healthy,
    routerEquivocations: 1,
    pendingItems: 1,
    pendingPosts: 7,
    pendingAddresses,
  });
  expect(lines.slice(1)).toEqual([
    "Router   signed two orders for 1 place; the proofs are kept: social-harness evidence",
    "Pending  7 posts, to agent:bob agent:cyd agent:dan agent:eve agent:fay, ...",
    "Inbox    1 item unread",
  ]);
});

verifies(
  "RUN-17",
  "status says why the Router is not connected, and of the first attempt that it is under way",
  () => {
    const away = { ...healthy, routerConnected: false };
    expect(standingLines(output, away)[0]).toBe("Router   not connected: still trying");
    const routerTrouble = { reason: "unreachable", explanation: "no such host\u001b[2J" };
    expect(standingLines(output, { ...away, routerTrouble })[0]).toBe(
      "Router   not connected: no such host\\u{1b}[2J",
    );
  },
);

verifies(
  "RUN-72",
  "status says that the folder was an old copy, how many have yet to recover, and that it is over",
  () => {
    const of = (conversations: number): string | undefined =>
      standingLines(output, {
        ...healthy,
        restored: { at: "2026-07-28T00:00:00.000Z", conversations, explanation: "an old copy" },
      })[1];
    expect(of(2)).toMatch(/^Restored 2 conversations yet to recover, found .*: an old copy$/);
    expect(of(1)).toMatch(/^Restored 1 conversation yet to recover, found /);
    expect(of(0)).toMatch(/^Restored all recovered, found .*: an old copy$/);
  },
);

verifies("RUN-17", "status says how the Router changed while that matters", () => {
  const routerChanged = {
    reason: "another-instance",
    at: "2026-07-28T00:00:00.000Z",
    explanation: "it began anew",
  };
  const of = (more: Partial<Health>): ReadonlyArray<string> =>
    standingLines(output, { ...healthy, routerChanged, ...more }).slice(1, -2);
  expect(of({})).toEqual([]);
  expect(of({ conversationsChanging: 2 })).toEqual([
    expect.stringMatching(/^Router {3}another-instance since .*: it began anew$/),
    "Rounds   2 conversations yet to go on in a new round",
  ]);
  expect(of({ routerChanged: { ...routerChanged, reason: "rolled-back" } })).toEqual([
    expect.stringMatching(/^Router {3}rolled-back since /),
  ]);
});
