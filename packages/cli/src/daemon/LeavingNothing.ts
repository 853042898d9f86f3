// Work on a folder of keys that is to appear whole or not at all: interrupted, it takes away what it has made so far.
// Implements RUN-350.

import * as StagedFolder from "@social-harness/endpoint/backup/StagedFolder";
import { interruptible } from "../lab/Interruptible.ts";

export const leavingNothing = <A>(work: () => Promise<A>): Promise<A> =>
  interruptible((cleanUp) => {
    cleanUp(async () => StagedFolder.discard());
    return work();
  });
