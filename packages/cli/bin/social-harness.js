#!/usr/bin/env -S node --max-semi-space-size=16
// The installed binary. Plain JavaScript, so that a Node too old to run TypeScript can still say so in one line.
// The flag keeps V8's young generation small: left alone it takes 100 MB of a daemon that is idle again after a burst.

import process from "node:process";

if (Number(process.versions.node.split(".")[0]) < 24) {
  process.stderr.write(
    `social-harness needs Node 24 or newer; this is ${process.version}. Install it from https://nodejs.org.\n`,
  );
  process.exitCode = 2;
} else {
  await import("../src/main.ts");
}
