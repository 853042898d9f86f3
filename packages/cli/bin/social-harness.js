#!/usr/bin/env -S node --max-semi-space-size=16
// The installed binary. Plain JavaScript, because a Node too old for the command could not run TypeScript to say so.
// The flag keeps V8's young generation small: left alone it takes 100 MB of a daemon that is idle again after a burst.

await import("./NodeCheck.js");
await import("../src/main.ts");
