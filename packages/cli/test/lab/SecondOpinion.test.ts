// What the demo is told when the second verifier cannot be asked, and when it does not agree.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect } from "vitest";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as SecondOpinion from "../../src/lab/SecondOpinion.ts";
import { temporaryFolder } from "../Binary.ts";

verifies("RUN-285", "a Python that is not there is told from a verifier that does not agree", async () => {
  const file = join(temporaryFolder(), "none.jsonl");
  writeFileSync(file, "");
  const key = "A".repeat(43) as SigningKey;
  expect((await SecondOpinion.ask(file, key)).kind).toBe("disagrees");
  const path = process.env["PATH"];
  process.env["PATH"] = temporaryFolder();
  try {
    expect(await SecondOpinion.ask(file, key)).toEqual({ kind: "no-python" });
  } finally {
    process.env["PATH"] = path;
  }
});
