// The installed command on a Node that cannot run it, and on one that took the place of another.

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { version } from "../src/Version.ts";
import { failureOf, run, temporaryFolder } from "./Binary.ts";
import { expectTooOld, olderNodes, pretending, tooOld, withoutSqlite } from "./OlderNodes.ts";

const command = fileURLToPath(new URL("../bin/social-harness.js", import.meta.url));

describe("the installed command", () => {
  verifies(
    "RUN-247",
    "C57 says in one sentence that an older Node is older, and writes nothing",
    (context) => {
      expectTooOld(olderNodes(context), command);
    },
  );

  verifies("RUN-247", "C57 looks at the version before all else", async () => {
    const old = await run(["--version"], { entry: command, nodeOptions: pretending("v23.11.1") });
    const { message, next } = tooOld("v23.11.1");
    expect(old).toEqual({ code: 2, stdout: "", stderr: `error: ${message}: ${next}\n` });
    const young = await run(["--version"], { entry: command, nodeOptions: pretending("v100.0.0") });
    expect(young).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  verifies("RUN-247", "C57 says that its Node has no SQLite", async () => {
    const env = { NODE_OPTIONS: "--no-experimental-sqlite" };
    const refused = await run(["status", "--json"], { entry: command, env });
    expect([refused.code, refused.stdout, failureOf(refused)]).toEqual([2, "", withoutSqlite]);
  });
});

/** Every file below `folder`, as a path. */
const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());

verifies(
  "RUN-249",
  "C57 compiled code that another Node left behind is not used",
  async () => {
    const cache = temporaryFolder();
    const versionSaid = () => run(["--version"], { entry: command, env: { XDG_CACHE_HOME: cache } });
    const well = { code: 0, stdout: `${version}\n`, stderr: "" };
    expect(await versionSaid()).toEqual(well);
    // Each version of Node has a folder of its own in there.
    const folder = join(cache, "social-harness");
    expect(readdirSync(folder)).toEqual([expect.stringContaining(`${process.version}-`)]);
    const files = filesIn(folder);
    expect(files.length).toBeGreaterThan(10);
    // And what is in it is looked at before it is used: here all of it is as no Node would have written it.
    for (const path of files)
      writeFileSync(
        path,
        readFileSync(path).map((byte) => byte ^ 0xff),
      );
    expect(await versionSaid()).toEqual(well);
  },
  240_000,
);
