#!/usr/bin/env node
// The entry of the `social-harness` binary: refuses a Node that is too old, then hands over to Program.ts.

import process from "node:process";

if (Number(process.versions.node.split(".")[0]) < 24) {
  process.stderr.write(
    `social-harness needs Node 24 or newer; this is ${process.version}. Install it from https://nodejs.org.\n`,
  );
  process.exitCode = 2;
} else {
  const { run } = await import("./Program.ts");
  process.exitCode = await run(process.argv.slice(2));
}
