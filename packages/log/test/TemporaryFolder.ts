// Folders for tests, removed when the test file ends.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-log-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};
