// `backup`: copies what this endpoint must not lose into a folder, whether or not its daemon runs. Implements RUN-180.

import { resolve } from "node:path";
import type { Command } from "commander";
import * as Backup from "@social-harness/endpoint/backup/Backup";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { act, define, folderPath, withState } from "../Command.ts";
import * as LostStore from "../daemon/LostStore.ts";
import { pathOf, type StateOptions } from "../daemon/Profile.ts";
import { leavingNothing } from "../daemon/LeavingNothing.ts";
import { flagsOf } from "../text/Hints.ts";

export const backup = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "backup",
      summary: "copy keys, configuration and store into a folder, also while the daemon runs",
      examples: [
        ["backup ~/backups/ada-1", "whole and checked, or not there; it holds the private keys"],
        ["backup /mnt/b/work --profile work", "another endpoint of this machine"],
      ],
    }),
  ).argument("<folder>", "where nothing is yet", folderPath);
  act<StateOptions, [string]>(command, async ({ output, options }, path) => {
    const folder = StateFolder.at(pathOf(options));
    LostStore.demandStore(folder);
    const { agentName, createdAt, files, digest } = await output.during(
      "Copying and checking",
      leavingNothing(() => Backup.write(folder, path, { now: Date.now() })),
    );
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const target = resolve(path);
    output.result(
      {
        kind: "backed-up",
        backup: target,
        agentName,
        createdAt,
        bytes,
        files: files.map(({ name }) => name),
        digest,
      },
      [
        `Backed up ${agentName ?? "an endpoint without an agent"} to ${target}: ${files.length} files, ${bytes} bytes, checked.`,
        "Whoever can read it can speak as this agent: keep it as you keep the keys.",
        `To bring it back, with this folder moved away: social-harness restore ${target}${flagsOf(options)}`,
      ].join("\n"),
    );
  });
};
