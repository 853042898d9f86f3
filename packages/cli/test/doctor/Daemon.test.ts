// What the doctor makes of a daemon's standing and of its webhook, each in every state that it may have.

import { expect } from "vitest";
import { states } from "@social-harness/endpoint/operations/EventSubscription";
import * as Trouble from "@social-harness/endpoint/transport/Trouble";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Health } from "../../src/daemon/Readiness.ts";
import { connectionOf } from "../../src/doctor/Connection.ts";
import { standingOf, webhookOf } from "../../src/doctor/Daemon.ts";

const well: Health = {
  registered: true,
  routerConnected: true,
  routerSince: "2026-01-02T03:04:05.000Z",
  routerTrouble: null,
  routerRefusing: null,
  routerEquivocations: 0,
  routerChanged: null,
  conversationsChanging: 0,
  restored: null,
  pendingItems: 0,
  firewall: null,
  webhook: null,
  storeTrouble: null,
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

const restored = (conversations: number): Health["restored"] => ({
  at: "2026-01-02T03:04:05.000Z",
  conversations,
  addresses: [],
  explanation: "the state folder is an old copy",
});

verifies(
  ["RUN-193", "RUN-195"],
  "a standing that should be known is a warning, and held messages are a broken link",
  () => {
    const verdictOf = (more: Partial<Health>): string => standingOf({ ...well, ...more }).verdict;
    expect(standingOf(well)).toMatchObject({ verdict: "ok", message: "nothing is pending" });
    expect(standingOf({ ...well, pendingPosts: 2 })).toMatchObject({
      verdict: "ok",
      message: "2 posts pending",
    });
    expect(verdictOf({ restored: restored(0) })).toBe("ok");
    expect(standingOf({ ...well, restored: restored(3) })).toMatchObject({
      verdict: "warning",
      message: "3 conversations yet to recover: the state folder is an old copy",
    });
    const storeTrouble = {
      reason: "full",
      explanation: "the disk is full",
      since: "2026-01-02T03:04:05.000Z",
    };
    expect(standingOf({ ...well, storeTrouble })).toMatchObject({
      verdict: "broken",
      message: "the disk is full",
    });
    expect(verdictOf({ conversationsChanging: 1 })).toBe("warning");
    expect(standingOf({ ...well, routerEquivocations: 1 }).next).toContain("social-harness evidence");
    expect(verdictOf({ firewall: { file: "usable", explanation: null, heldItems: 4, queuedItems: 0 } })).toBe(
      "ok",
    );
    expect(
      standingOf({
        ...well,
        firewall: { file: "unusable", explanation: "it is no JSON", heldItems: 0, queuedItems: 1 },
      }),
    ).toMatchObject({
      verdict: "broken",
      next: "Correct the file.",
    });
  },
);

verifies(
  "RUN-193",
  "a webhook that gets nothing any more is a broken link, with what has it tried again",
  () => {
    const subscription = (more: Partial<NonNullable<Health["webhook"]>>): Health => ({
      ...well,
      webhook: {
        subscriptionId: "sub_1",
        event: "org.social-harness/inbox.pending",
        state: "active",
        resting: null,
        refreshBefore: "2026-01-02T03:04:05Z",
        lastDeliveryAt: null,
        lastError: null,
        lastStatus: null,
        failedSince: null,
        failedAttempts: 0,
        nextAttemptAt: null,
        waitingItems: 0,
        ...more,
      },
    });
    const verdicts = states.map((state) => {
      const { verdict, message, next } = webhookOf(subscription({ state }));
      expect(message.startsWith(`${state}: `)).toBe(true);
      expect(next === "").toBe(verdict === "ok");
      return [state, verdict];
    });
    expect(Object.fromEntries(verdicts)).toEqual({
      active: "ok",
      retrying: "warning",
      suspended: "broken",
      rejected: "broken",
      expired: "warning",
    });
    expect(webhookOf(well).verdict).toBe("ok");
    expect(webhookOf(subscription({ resting: "trusted-local" }))).toMatchObject({ verdict: "warning" });
  },
);

verifies("RUN-274", "the connection's remedy is that of the trouble which it names, said once", () => {
  const of = (reason: string, explanation: string) =>
    connectionOf({ ...well, routerConnected: false, routerTrouble: { reason, explanation } });
  expect(of("superseded", "another process connected as this agent").next).toContain(
    "Stop the other process",
  );
  expect(of("unreachable", "the Router cannot be reached (connection refused)").next).toContain("Posts wait");
  const { remedy } = Trouble;
  const advice = remedy("Router", "untrusted-certificate");
  expect(of("untrusted-certificate", `it is not trusted (self-signed certificate). ${advice}`)).toMatchObject(
    {
      verdict: "broken",
      message: "the daemon is not connected to the Router: it is not trusted (self-signed certificate)",
      next: advice,
    },
  );
  const storeTrouble = { reason: "full", explanation: "the disk is full", since: "2026-01-02T03:04:05.000Z" };
  const full = connectionOf({ ...well, routerConnected: false, storeTrouble });
  expect([full.message, full.next]).toEqual([
    expect.stringContaining("the disk is full"),
    expect.stringContaining("Mend the store"),
  ]);
  expect(connectionOf(well).verdict).toBe("ok");
  expect(connectionOf({ ...well, registered: false }).verdict).toBe("skipped");
});

verifies("RUN-276", "a Router that is connected and takes nothing is a broken link", () => {
  const routerRefusing = { since: "2026-01-02T03:04:05.000Z", explanation: "it refuses every post" };
  expect(connectionOf({ ...well, routerRefusing })).toMatchObject({
    verdict: "broken",
    next: expect.stringContaining("Tell the network's operator") as string,
  });
});
