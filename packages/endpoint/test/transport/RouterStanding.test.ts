import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { HandshakeError, silence } from "@social-harness/router/client/Handshake";
import { createRouterStanding, remedyOf } from "../../src/transport/RouterStanding.ts";

const thrown = (code: string): Error => Object.assign(new Error(code), { code });

verifies("RUN-16", "the standing says since when, why not, and a repeated trouble once", () => {
  let now = 100;
  const standing = createRouterStanding(() => now);
  expect(standing.state()).toEqual({ connected: false, since: 100, trouble: null, refusingSince: null });
  now = 200;
  const untrusted = standing.disconnected("unreachable", thrown("DEPTH_ZERO_SELF_SIGNED_CERT"));
  expect(untrusted).toMatchObject({
    reason: "untrusted-certificate",
    explanation: expect.stringMatching(/self-signed certificate.*NODE_EXTRA_CA_CERTS/),
  });
  expect(standing.disconnected("unreachable", thrown("DEPTH_ZERO_SELF_SIGNED_CERT"))).toBeNull();
  expect(standing.state()).toEqual({ connected: false, since: 100, trouble: untrusted, refusingSince: null });
  now = 300;
  standing.connected();
  expect(standing.state()).toEqual({ connected: true, since: 300, trouble: null, refusingSince: null });
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

verifies("RUN-272", "what answers in a Router's place is told with its status, apart from an outage", () => {
  const said = (cause: Error) => {
    const standing = createRouterStanding(() => 0);
    const { reason, explanation } = standing.disconnected("unreachable", cause) ?? { reason: null };
    return [reason, explanation];
  };
  expect(said(new HandshakeError(404))).toEqual([
    "other-service",
    expect.stringMatching(/that is no Router \(HTTP 404\)\. Compare routerUrl .* does not hand that path on/),
  ]);
  expect(said(new HandshakeError(null))[0]).toBe("other-service");
  for (const status of [502, 503, 504, 429])
    expect(said(new HandshakeError(status))).toEqual([
      "unreachable",
      `the Router cannot be reached (HTTP ${status})`,
    ]);
  expect(said(silence())).toEqual(["unreachable", "the Router cannot be reached (no answer)"]);
  expect(said(thrown("ENOTFOUND"))).toEqual([
    "unknown-host",
    expect.stringMatching(/no such host.*routerUrl in config\.json.*social-harness move/),
  ]);
  // A code of the system is said as it is, and nothing else of an error.
  expect(said(thrown("EPIPE"))[1]).toBe("the Router cannot be reached (EPIPE)");
  expect(said(new Error("wss://user:secret@router.example"))[1]).toBe("the Router cannot be reached");
});

verifies("RUN-274", "each trouble has a remedy of its own, and an unknown word that of an outage", () => {
  expect(remedyOf("superseded")).toContain("Stop the other process");
  expect(remedyOf("delivery-failed")).toContain("Mend the store");
  expect(remedyOf("untrusted-certificate")).toContain("NODE_EXTRA_CA_CERTS");
  expect(remedyOf("unknown-host")).toContain("routerUrl");
  expect(remedyOf("a word of a later version")).toBe(remedyOf("unreachable"));
});

verifies(
  "RUN-276",
  "that a Router takes nothing holds while it is connected, and until it takes again",
  () => {
    let now = 1;
    const standing = createRouterStanding(() => now);
    standing.taking(false);
    expect(standing.state().refusingSince).toBeNull();
    standing.connected();
    now = 2;
    standing.taking(false);
    expect(standing.state()).toMatchObject({ connected: true, refusingSince: 2 });
    standing.taking(true);
    expect(standing.state().refusingSince).toBeNull();
    standing.taking(false);
    standing.disconnected("connection-lost");
    expect(standing.state()).toMatchObject({ connected: false, refusingSince: null });
  },
);
