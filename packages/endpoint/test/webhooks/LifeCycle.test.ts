// The life cycle against the table that docs/spec/ingress.md shows to people: every state, with every history that matters in it,
// under every event.

import { readFileSync } from "node:fs";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as LifeCycle from "../../src/webhooks/LifeCycle.ts";
import * as Limits from "../../src/webhooks/Limits.ts";

type Standing = LifeCycle.Standing;

const hourMs = 3_600_000;
const now = 10 * hourMs;
const failing = (attempts: number, spanMs: number): LifeCycle.Failing => ({
  attempts,
  since: now - 1_000 - spanMs,
  lastAt: now - 1_000,
  error: "http_5xx",
  status: 503,
});
const few = failing(3, 5_000);
const many = failing(500, hourMs / 2);
const long = failing(98, 5 * hourMs);
const oneShort = failing(99, 2 * hourMs);
const exhausted = failing(100, hourMs);

const standing = (state: LifeCycle.State, failed: Standing["failing"]): Standing => ({
  state,
  failing: failed,
  dueAt: now + 60_000,
});

const histories: Readonly<Record<LifeCycle.State, ReadonlyArray<Standing>>> = {
  none: [LifeCycle.none],
  active: [standing("active", null)],
  retrying: [few, many, long, oneShort].map((failed) => standing("retrying", failed)),
  suspended: [standing("suspended", exhausted)],
  rejected: [few, exhausted].map((failed) => standing("rejected", failed)),
  expired: [null, few, oneShort, exhausted].map((failed) => standing("expired", failed)),
};

const events: { readonly [Kind in LifeCycle.EventKind]: Extract<LifeCycle.Event, { readonly kind: Kind }> } =
  {
    granted: { kind: "granted", now },
    unverified: { kind: "unverified" },
    leaseEnded: { kind: "leaseEnded" },
    received: { kind: "received", now },
    failed: { kind: "failed", now, error: "timeout", status: null, jitter: 0, retryAfterMs: null },
    refused: { kind: "refused", now, error: "http_4xx", status: 410 },
    acknowledged: { kind: "acknowledged", now },
    resumed: { kind: "resumed", now },
    revoked: { kind: "revoked" },
    unsubscribed: { kind: "unsubscribed" },
    restarted: { kind: "restarted" },
  };

/** The cells of the table in the document, by event and state. */
const documented = (): ReadonlyMap<string, ReadonlyArray<string>> => {
  const text = readFileSync(new URL("../../../../docs/spec/ingress.md", import.meta.url), "utf8");
  const lines = text.split("\n").filter((line) => line.startsWith("| "));
  const cells = lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const head = cells.find(([first]) => first === "event") as ReadonlyArray<string>;
  expect(head.slice(1)).toEqual(LifeCycle.states);
  const rows = cells.filter(([first]) => first?.startsWith("`") === true);
  expect(rows.map(([first]) => first)).toEqual(Object.keys(events).map((kind) => `\`${kind}\``));
  return new Map(
    rows.flatMap(([first, ...row]) =>
      row.map((cell, i): [string, ReadonlyArray<string>] => [
        `${first?.slice(1, -1)} in ${head[i + 1]}`,
        cell === "-" ? [head[i + 1] as string] : cell.split(", "),
      ]),
    ),
  );
};

verifies(
  ["ING-80", "ING-81", "ING-82", "ING-83", "ING-84"],
  "every cell of the life cycle is what the documented table says, and no standing is one that cannot be",
  () => {
    const table = documented();
    for (const state of LifeCycle.states) {
      for (const kind of Object.keys(events) as ReadonlyArray<LifeCycle.EventKind>) {
        const results = histories[state].map((before) => LifeCycle.transition(before, events[kind]));
        const reached = [...new Set(results.map((after) => after.state))].toSorted();
        expect([kind, state, reached]).toEqual([kind, state, table.get(`${kind} in ${state}`)]);
        for (const after of results) {
          const failed = after.failing;
          if (after.state === "none") expect(after).toEqual(LifeCycle.none);
          if (after.state === "active") expect(failed).toBeNull();
          if (["retrying", "suspended", "rejected"].includes(after.state)) expect(failed).not.toBeNull();
          const span = failed === null ? 0 : failed.lastAt - failed.since;
          if (after.state === "suspended") {
            expect(failed?.attempts).toBeGreaterThanOrEqual(Limits.suspendAttemptsMin);
            expect(span).toBeGreaterThanOrEqual(Limits.suspendSpanMsMin);
          }
        }
      }
    }
    // What a cell keeps. Nothing but revocation clears a rejection, and a refresh in time no count and no wait.
    for (const kind of ["granted", "leaseEnded", "resumed", "restarted", "acknowledged"] as const) {
      for (const before of histories.rejected) {
        expect(LifeCycle.transition(before, events[kind])).toBe(before);
      }
    }
    for (const before of histories.retrying) {
      expect(LifeCycle.transition(before, events.granted)).toBe(before);
      expect(LifeCycle.transition(before, events.restarted)).toBe(before);
      const expired = LifeCycle.transition(before, events.leaseEnded);
      expect(LifeCycle.transition(expired, events.granted)).toEqual({ ...before, dueAt: now });
    }
    // Both bounds of a suspension, each alone and together.
    const after = (before: LifeCycle.Failing) =>
      LifeCycle.transition(standing("retrying", before), events.failed).state;
    expect([few, many, long, oneShort].map(after)).toEqual(["retrying", "retrying", "retrying", "suspended"]);
    // Who owns the consumer: a suspended and a rejected one, until revocation or the end of the lease.
    const owners = (isLeaseOver: boolean) =>
      LifeCycle.states.filter((state) => LifeCycle.ownsConsumer(state, isLeaseOver));
    expect(owners(false)).toEqual(["active", "retrying", "suspended", "rejected"]);
    expect(owners(true)).toEqual(["active", "retrying", "suspended"]);
    expect(LifeCycle.states.filter(LifeCycle.delivers)).toEqual(["active", "retrying"]);
  },
);
