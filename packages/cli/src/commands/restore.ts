// `restore`: makes a state folder from a backup, with its store marked as an old copy. Implements RUN-184.

import { resolve } from "node:path";
import type { Command } from "commander";
import * as Restore from "@social-harness/endpoint/backup/Restore";
import { act, define, folderPath, withState } from "../Command.ts";
import { pathOf, type StateOptions } from "../daemon/Profile.ts";
import { count } from "../Output.ts";
import { leavingNothing } from "../daemon/LeavingNothing.ts";
import { flagsOf } from "../text/Hints.ts";

const explanation = (conversations: number): string =>
  conversations === 0
    ? "It knows no conversation yet."
    : `${count(conversations, "conversation")} will sign nothing before the other members have said where they are; \`status\` counts those that have yet to recover.`;

export const restore = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "restore",
      summary: "make a state folder from a backup",
      examples: [
        ["restore ~/backups/ada-1", "into the default profile, which must be empty or absent"],
        ["restore ~/backups/ada-1 --state ./ada", "into another folder"],
      ],
    }),
  ).argument("<backup>", "a folder that `backup` wrote", folderPath);
  act<StateOptions, [string]>(command, async ({ output, options }, from) => {
    const state = resolve(pathOf(options));
    const restored = await output.during(
      "Checking and copying",
      leavingNothing(() => Restore.restore(from, state, { now: Date.now() })),
    );
    const { kind, agentName, createdAt, conversations } = restored;
    const who = agentName ?? "an endpoint without an agent";
    output.result(
      { kind, state, agentName, createdAt, conversations },
      kind === "already"
        ? `${state} came from this backup before and was left as it is.`
        : [
            `Restored ${who} as of ${createdAt} into ${state}.`,
            explanation(conversations),
            "Make sure that no other copy of this endpoint runs anywhere. Tokens are made anew: hosts that show one need the new one.",
            `Next: social-harness daemon${flagsOf(options)}`,
          ].join("\n"),
    );
  });
};
