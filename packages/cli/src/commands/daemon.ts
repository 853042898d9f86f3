// `daemon`: runs this profile's endpoint until told to stop. Implements RUN-22 to RUN-24 and RUN-118.

import { existsSync } from "node:fs";
import process from "node:process";
import type { Command } from "commander";
import { flag as testFlag } from "@social-harness/endpoint/callbacks/TestCallbacks";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { act, define, withState } from "../Command.ts";
import * as Daemon from "../daemon/Daemon.ts";
import * as Flags from "../daemon/Flags.ts";
import * as Keys from "../daemon/Keys.ts";
import * as LostStore from "../daemon/LostStore.ts";
import { replace } from "../daemon/Replacing.ts";
import { demandStartable } from "../daemon/Startable.ts";
import * as Port from "../daemon/Port.ts";
import { pathOf, type StateOptions } from "../daemon/Profile.ts";
import * as Streams from "../Streams.ts";
import { contactsLine } from "../text/Contacts.ts";
import { naming } from "../text/Hints.ts";
import { daemonHelp, servingJson } from "../text/ServingHelp.ts";
import { firewallLines } from "../text/Standing.ts";
import { closeInTime, isServing, untilStopped } from "../Waiting.ts";

type Options = StateOptions & Flags.Flags & { readonly allowTestCallbacks?: true; readonly replace?: true };

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
      json: servingJson,
      examples: [
        ["daemon", "the default profile, MCP on port 7431"],
        ["daemon --profile work --port 0", "another one, on any free port"],
        ["daemon --replace", "in the place of the one that runs"],
        ["daemon --mode credentials", "only for who shows a token of its folder"],
      ],
    }),
  );
  command.addHelpText("after", `${modeHelp}\n${daemonHelp}`);
  Flags.withFlags(command);
  command.option("--replace", "ask the daemon that holds the folder to stop, and wait until it has");
  command.option(testFlag, "for tests alone: callbacks may go where test-callbacks.json of the folder says");
  act<Options, []>(command, async ({ output, options }) => {
    Streams.serve();
    const stopped = untilStopped();
    // Looked at before it is opened: opening makes what is missing, and a mistyped path should leave nothing behind.
    const { path } = StateFolder.at(pathOf(options));
    Keys.demand(StateFolder.at(path));
    LostStore.demandStore(StateFolder.at(path));
    const folder = StateFolder.open(path);
    const configuration = Configuration.load(folder, Flags.sourcesOf(options));
    const allowTestCallbacks = options.allowTestCallbacks ?? false;
    const start = (): Promise<Daemon.Daemon> =>
      output.during(
        "Checking the stored record",
        Daemon.start(folder, configuration, {
          notice: (line) => output.remark(naming(options, line)),
          allowTestCallbacks,
        }),
      );
    const running =
      options.replace === true
        ? await replace({ output, folder, start }, async (holder) => {
            await Port.demandFree(folder, configuration.port, holder);
            await demandStartable(folder, configuration, allowTestCallbacks);
          })
        : await start();
    if (configuration.mode === "trusted-local" && existsSync(folder.runtimeToken)) output.remark(tokenUnused);
    let why = "it could not say that it is ready";
    try {
      const unfinished = running.health().registered ? null : LostStore.unfinished(folder);
      if (unfinished !== null) output.remark(naming(options, unfinished));
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
      why = `told to by ${await stopped}`;
    } finally {
      await closeInTime(() => running.close(why));
    }
  });
};
