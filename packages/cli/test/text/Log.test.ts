// The lines that a network writes to stderr.

import process from "node:process";
import { expect, vi } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { logToStderr } from "../../src/text/Log.ts";

verifies("RUN-290", "a line of a network has the fields of an endpoint's line, in the same order", () => {
  let text = "";
  const write = vi.spyOn(process.stderr, "write").mockImplementation((line) => {
    text += String(line);
    return true;
  });
  try {
    const logger = logToStderr("warn");
    logger("info", "not said");
    logger("warn", "said", { agents: 2 });
  } finally {
    write.mockRestore();
  }
  const line = JSON.parse(text) as Record<string, unknown>;
  expect(Object.keys(line)).toEqual(["time", "level", "event", "agents"]);
  expect(line["time"]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(line).toMatchObject({ level: "warn", event: "said", agents: 2 });
});
