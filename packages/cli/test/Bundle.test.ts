// The single file: made, moved away from the repository, and run there.

import { execFile } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { repositoryRoot, temporaryFolder } from "./Binary.ts";

const runFile = promisify(execFile);

describe("the single file", () => {
  verifies(
    "RUN-200",
    "does the main job where nothing else of this repository is, and names what it is made of",
    async () => {
      const made = temporaryFolder();
      await runFile(process.execPath, [join(repositoryRoot, "tools/bundle.ts"), made]);
      const program = join(temporaryFolder(), "social-harness.mjs");
      copyFileSync(join(made, "social-harness.mjs"), program);
      const text = readFileSync(program, "latin1");
      expect(text.split("\n", 1)[0]).toBe(
        "#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=24576 node --optimize-for-size",
      );
      expect([...text].every((letter) => letter < "\u0080")).toBe(true);
      const { stdout } = await runFile(process.execPath, [program, "demo", "--json"]);
      expect(JSON.parse(stdout)).toMatchObject({
        ok: true,
        itemsExpected: 83,
        itemsDelivered: 83,
        restarts: 2,
      });
      const notices = readFileSync(join(made, "THIRD-PARTY-NOTICES.txt"), "utf8");
      for (const name of ["effect", "@modelcontextprotocol/server", "ws", "re2js", "zod"])
        expect(notices).toMatch(new RegExp(`^${name} \\d`, "m"));
      expect(notices).not.toMatch(/see its licence/);
    },
    240_000,
  );
});
