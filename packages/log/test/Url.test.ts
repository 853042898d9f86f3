import { join } from "node:path";
import { expect } from "vitest";
import { open, parse } from "@social-harness/log/Url";
import { verifies } from "@social-harness/testkit/Verifies";
import { bytesOf } from "./suite.ts";
import { temporaryFolder } from "./TemporaryFolder.ts";

const folder = temporaryFolder();

verifies("RTR-71", "a URL chooses the engine", async () => {
  expect(parse("memory:")).toEqual({ engine: "memory" });
  expect(parse("sqlite:/var/lib/a b%20c.sqlite")).toEqual({
    engine: "sqlite",
    path: "/var/lib/a b%20c.sqlite",
  });
  for (const url of ["memory:", `sqlite:${join(folder, "log.sqlite")}`]) {
    const log = open(url);
    expect(await log.append("s", bytesOf("1"))).toEqual({ kind: "appended", position: 1 });
    await log.close();
  }
});

verifies("RTR-71", "a URL of no engine of this build is refused with one closed error", () => {
  for (const url of [
    "nats://127.0.0.1:4222",
    "",
    "sqlite:",
    "/path",
    "memory:x",
    "postgres://x",
    "sqlite:\0",
  ]) {
    expect(() => open(url)).toThrow(expect.objectContaining({ name: "LogError", reason: "unsupported" }));
  }
});
