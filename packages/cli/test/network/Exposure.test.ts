// Where a network may listen and what its members are told.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { Failure } from "../../src/Failure.ts";
import * as Exposure from "../../src/network/Exposure.ts";
import { temporaryFolder } from "../Binary.ts";

const refusal = (options: Exposure.ExposureOptions): Failure => {
  try {
    Exposure.parse(options);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error("it was accepted");
};

describe("a network's exposure", () => {
  verifies("RUN-26", "plain http and ws stay on loopback", () => {
    for (const listen of ["127.0.0.1:7400", "localhost:0", "[::1]:7400"]) {
      expect(Exposure.parse({ listen })).toMatchObject({ behindProxy: false });
    }
    for (const listen of ["0.0.0.0:7400", "192.0.2.1:7400", "[::]:7400", "example.org:7400"]) {
      expect(refusal({ listen })).toMatchObject({ exitCode: 2 });
      expect(refusal({ listen, publicUrl: "https://net.example" })).toMatchObject({ exitCode: 2 });
    }
    expect(refusal({ listen: "127.0.0.1:1", publicUrl: "http://net.example" })).toMatchObject({
      exitCode: 2,
    });
  });

  test("behind a proxy, members reach both services under the public URL", () => {
    const exposure = Exposure.parse({ listen: "127.0.0.1:7400", publicUrl: "https://net.example/" });
    expect(exposure).toMatchObject({ behindProxy: true, registryPort: 7400, routerPort: 7401 });
    expect(Exposure.routerUrlOf(exposure, "ws://127.0.0.1:7401")).toBe("wss://net.example/router");
  });

  test("under its own TLS, the Router has its own port", () => {
    const folder = temporaryFolder();
    const pem = join(folder, "x.pem");
    writeFileSync(pem, "PEM");
    const options = { listen: "0.0.0.0:7400", tlsCert: pem, tlsKey: pem };
    const exposure = Exposure.parse({ ...options, publicUrl: "https://net.example:7400" });
    expect(exposure).toMatchObject({ behindProxy: false, tls: { cert: "PEM", key: "PEM" } });
    expect(Exposure.routerUrlOf(exposure, "wss://0.0.0.0:7401")).toBe("wss://net.example:7401");
    expect(refusal({ ...options, listen: "127.0.0.1:1", publicUrl: "http://127.0.0.1:1" })).toMatchObject({
      exitCode: 2,
      next: expect.stringContaining("https"),
    });
    expect(refusal(options).message).toContain("members cannot reach 0.0.0.0");
    expect(refusal({ listen: "127.0.0.1:1", tlsCert: pem }).message).toContain("belong together");
    expect(
      refusal({ ...options, listen: "127.0.0.1:1", tlsCert: join(folder, "none.pem") }).message,
    ).toContain("cannot be read");
  });

  test.each(["7400", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65535", "::1:7400", "a b:1:2"])(
    "%s is no listening address",
    (listen) => {
      expect(refusal({ listen }).message).toContain("is no listening address");
    },
  );
});
