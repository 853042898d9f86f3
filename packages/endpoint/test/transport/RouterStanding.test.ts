import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { createRouterStanding } from "../../src/transport/RouterStanding.ts";

const thrown = (code: string): Error => Object.assign(new Error(code), { code });

verifies("RUN-16", "the standing says since when, why not, and a repeated trouble once", () => {
  let now = 100;
  const standing = createRouterStanding(() => now);
  expect(standing.state()).toEqual({ connected: false, since: 100, trouble: null });
  now = 200;
  const untrusted = standing.disconnected("unreachable", thrown("DEPTH_ZERO_SELF_SIGNED_CERT"));
  expect(untrusted).toMatchObject({
    reason: "untrusted-certificate",
    explanation: expect.stringMatching(/self-signed certificate.*NODE_EXTRA_CA_CERTS/),
  });
  expect(standing.disconnected("unreachable", thrown("DEPTH_ZERO_SELF_SIGNED_CERT"))).toBeNull();
  expect(standing.state()).toEqual({ connected: false, since: 100, trouble: untrusted });
  now = 300;
  standing.connected();
  expect(standing.state()).toEqual({ connected: true, since: 300, trouble: null });
  now = 400;
  // What the socket threw explains an attempt that failed, and no refusal.
  expect(standing.disconnected("superseded", thrown("ECONNRESET"))).toMatchObject({ reason: "superseded" });
  expect(standing.state()).toMatchObject({ connected: false, since: 400 });
  now = 20_000;
  expect(standing.disconnected("unreachable", thrown("ECONNREFUSED"))?.explanation).toBe(
    "the Router cannot be reached (connection refused)",
  );
  now = 40_000;
  expect(standing.disconnected("unreachable")?.explanation).toBe("the Router cannot be reached");
});

verifies("RUN-264", "an outage is said once when it begins, its length when it is over", () => {
  let now = 0;
  const standing = createRouterStanding(() => now);
  const refused = () => standing.disconnected("unreachable", thrown("ECONNREFUSED"));
  // The first connection ends nothing that was said.
  expect(standing.connected()).toBeNull();
  now = 1_000;
  expect(standing.disconnected("connection-lost")?.reason).toBe("connection-lost");
  now = 1_300;
  // What the next attempt meets is the same outage, and what status shows.
  expect(refused()).toBeNull();
  expect(standing.state().trouble?.explanation).toContain("connection refused");
  now = 12_000;
  // A cause that has lasted is worth a line of its own, once.
  expect(refused()?.explanation).toContain("connection refused");
  now = 60_000;
  expect(refused()).toBeNull();
  now = 61_400;
  expect(standing.connected()).toBe(60);
  expect(standing.connected()).toBeNull();
});
