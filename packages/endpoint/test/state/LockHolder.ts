// A process that takes the lock of the folder it is given, says so, and holds it until its standard input ends.

import * as Lock from "../../src/state/Lock.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";

const lock = Lock.acquire(StateFolder.open(process.argv[2] as string));
process.stdout.write("held\n");
process.stdin.resume().on("end", () => {
  lock.release();
  process.exit(0);
});
