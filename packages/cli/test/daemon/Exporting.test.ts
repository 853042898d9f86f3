import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { writeWhole } from "../../src/daemon/Exporting.ts";
import { temporaryFolder } from "../Binary.ts";

verifies("RUN-40", "an export that cannot be written leaves nothing of what was said", async () => {
  const folder = temporaryFolder();
  const taken = join(folder, "a-folder");
  mkdirSync(taken);
  await expect(writeWhole(taken, ["a line\n"])).rejects.toMatchObject({ reason: "file-unwritable" });
  const failing = function* (): Iterable<string> {
    yield "a line\n";
    throw new Error("the disk is full");
  };
  const file = join(folder, "file");
  writeFileSync(file, "as it was");
  await expect(writeWhole(file, failing())).rejects.toMatchObject({ reason: "file-unwritable" });
  expect(readdirSync(folder)).toEqual(["a-folder", "file"]);
  expect(readFileSync(file, "utf8")).toBe("as it was");
});
