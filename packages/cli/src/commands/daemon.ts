// `daemon`: runs this profile's endpoint until told to stop. Implements RUN-22 to RUN-24.

import { existsSync } from "node:fs";
import process from "node:process";
import type { Command } from "commander";
import { flag as testFlag } from "@social-harness/endpoint/callbacks/TestCallbacks";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { act, define, withState } from "../Command.ts";
import * as Daemon from "../daemon/Daemon.ts";
import { joinFirst, pathOf, type StateOptions } from "../daemon/Profile.ts";
import { failed } from "../Failure.ts";
import { contactsLine } from "../text/Contacts.ts";
import { naming } from "../text/Hints.ts";
import { firewallLines } from "../text/Standing.ts";
import { isServing, releaseParent, untilStopped } from "../Waiting.ts";

type Flags = Partial<Readonly<Record<Configuration.Field, string>>>;
type Options = StateOptions & Flags & { readonly allowTestCallbacks?: true };

const fields: ReadonlyArray<readonly [field: Configuration.Field, value: string, meaning: string]> = [
  ["port", "<n>", "of the MCP endpoint on 127.0.0.1; 0 = any (default: 7431)"],
  ["logLevel", "<level>", "debug, info, warn or error (default: info)"],
  [
    "contacts",
    "<who>",
    "who may open a conversation: everyone, known, nobody, or names with commas (default: everyone)",
  ],
  [
    "blocked",
    "<names>",
    "who may not in any case, yet can be in a group that another opens: names with commas, or nobody",
  ],
  [
    "mode",
    "<mode>",
    "who may speak to it: trusted-local, every program on this machine, or credentials (default: trusted-local)",
  ],
  ["registryUrl", "<url>", "instead of the configured one"],
  ["routerUrl", "<url>", "instead of the configured one"],
  ["registryKey", "<key>", "instead of the pinned one"],
  ["routerKey", "<key>", "instead of the pinned one"],
  ["admission", "<credential>", "for a registration that brings none"],
];

/** What a person has to know to use the other mode; the rest stands in docs/spec/management.md. */
const modeHelp = `
Modes:
  trusted-local  every program of this machine may use the endpoint.
  credentials    only who shows a token of the state folder. Commands find the owner-token by themselves. A host gets the
                 runtime-token: let it send the header "Authorization: Bearer <content of runtime-token>" with every
                 request. To change a token write the file anew; it counts from the next request.
The mode holds for this start; "mode" in config.json keeps it.`;

/** Somebody once wanted this endpoint closed to other programs. */
const tokenUnused =
  'this mode asks nobody for a token, though a runtime-token is there: start with --mode credentials, or put "mode": "credentials" into config.json';

export const daemon = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "daemon",
      summary: "run the endpoint until it is told to stop",
      examples: [
        ["daemon", "the default profile, MCP on port 7431"],
        ["daemon --profile work --port 0", "another one, on any free port"],
        ["daemon --mode credentials", "only for who shows a token of its folder"],
      ],
    }),
  );
  command.addHelpText("after", modeHelp);
  for (const [field, value, meaning] of fields)
    command.option(`${Configuration.flagOf(field)} ${value}`, meaning);
  command.option(testFlag, "for tests alone: callbacks may go where test-callbacks.json of the folder says");
  act<Options, []>(command, async ({ output, options }) => {
    const stopped = untilStopped();
    // Looked at before it is opened: opening makes what is missing, and a mistyped path should leave nothing behind.
    const { path } = StateFolder.at(pathOf(options));
    if (Identity.load(StateFolder.at(path)) === null) {
      throw failed("no-keys", `${path} has no keys yet`, joinFirst);
    }
    const folder = StateFolder.open(path);
    const flags = Object.fromEntries(fields.map(([field]) => [field, options[field]]));
    const configuration = Configuration.load(folder, { flags, environment: process.env });
    const running = await output.during(
      "Checking the stored record",
      Daemon.start(folder, configuration, {
        notice: (line) => output.remark(naming(options, line)),
        allowTestCallbacks: options.allowTestCallbacks ?? false,
      }),
    );
    if (configuration.mode === "trusted-local" && existsSync(folder.runtimeToken)) output.remark(tokenUnused);
    try {
      const ready = [
        `ready: MCP at ${running.mcpUrl}, mode ${configuration.mode}`,
        contactsLine(configuration),
        ...firewallLines(output, running.health()),
        "Stop with Ctrl-C.",
      ];
      output.result(
        {
          pid: process.pid,
          mcpUrl: running.mcpUrl,
          mode: configuration.mode,
          contacts: configuration.contacts,
          blocked: configuration.blocked,
        },
        naming(options, ready.join("\n")),
      );
      isServing();
      await stopped;
    } finally {
      await running.close();
      releaseParent();
    }
  });
};
