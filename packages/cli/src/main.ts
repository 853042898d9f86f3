#!/usr/bin/env node
// The command line as a process: what Node must be told before anything is loaded, then Program.ts.

import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import * as DirectLoopback from "./DirectLoopback.ts";
import * as Streams from "./Streams.ts";

// Compiled once, not at every start: half of a short command's time. Private to this user, unlike Node's default place.
// The single file that `npm run bundle` makes is compiled before it could ask for that.
if (import.meta.url.endsWith(".ts"))
  enableCompileCache(join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "social-harness"));

Streams.guard();
DirectLoopback.exempt(process.env);

const { run } = await import("./Program.ts");
const { end } = await import("./Ending.ts");
await end(await run(process.argv.slice(2)));
