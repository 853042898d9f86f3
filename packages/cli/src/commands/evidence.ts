// `evidence`: what this endpoint has caught its Router at, orders that were signed twice, and how its logs ended.
// Implements RUN-46.

import type { Command } from "commander";
import { act, define, withState } from "../Command.ts";
import * as Evidence from "../daemon/Evidence.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withOwnerPaths } from "../daemon/Running.ts";
import { evidenceLines } from "../text/Evidence.ts";

export const evidence = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "evidence",
      summary: "show the proofs kept against the Router, and how its logs ended",
      examples: [
        ["evidence", "for a person"],
        ["evidence --json", "with the Router's signatures, which anyone who has its key can check"],
      ],
    }),
  );
  act<StateOptions, []>(command, async ({ output, options }) => {
    const found = await output.during("Asking the daemon", withOwnerPaths(options, Evidence.read));
    output.result(found, evidenceLines(output, found, options).join("\n"));
  });
};
