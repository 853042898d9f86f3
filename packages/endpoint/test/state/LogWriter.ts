// A process that writes a hundred lines into the log of the folder it is given. Whoever starts it may let its files grow only
// so far.

import * as Log from "../../src/state/Log.ts";

const folder = process.argv[2] as string;
const log = Log.open({ folder, level: "info", clock: () => 0 });
for (let number = 0; number < 100; number++) log.write("info", `line ${number}`, { more: "x".repeat(40) });
log.close();
