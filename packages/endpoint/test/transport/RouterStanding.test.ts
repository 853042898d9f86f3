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
  expect(standing.disconnected("unreachable", thrown("ECONNREFUSED"))?.explanation).toBe(
    "the Router cannot be reached (connection refused)",
  );
  expect(standing.disconnected("unreachable")?.explanation).toBe("the Router cannot be reached");
});
