#!/usr/bin/env node
// The entry of the `social-harness` binary: refuses a Node that is too old, then hands over to Program.ts.

import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";

if (Number(process.versions.node.split(".")[0]) < 24) {
  process.stderr.write(
    `social-harness needs Node 24 or newer; this is ${process.version}. Install it from https://nodejs.org.\n`,
  );
  process.exitCode = 2;
} else {
  // Compiled once, not at every start: half of a short command's time. Private to this user, unlike Node's default place.
  enableCompileCache(join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "social-harness"));
  const { run } = await import("./Program.ts");
  process.exitCode = await run(process.argv.slice(2));
}
