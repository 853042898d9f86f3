import { createHash } from "node:crypto";
import { expect } from "vitest";
import { known, migrations } from "@social-harness/router/service/RouterSchema";
import { verifies } from "@social-harness/testkit/Verifies";

/** What was released, a digest a version. A line is added with a version, and none is ever changed. */
const released = ["IX8mKisK63RgJwWRYBrUImYrYGFDXGKlO4B0atSSp5s"];

verifies("RUN-170", "each released script of the Router's tables is what it was when it was released", () => {
  const digests = migrations.map((script) => createHash("sha256").update(script).digest("base64url"));
  expect(digests).toEqual(released);
  expect(known).toEqual({ router: released.length });
});
