// `status`: which agent this endpoint is, how it stands with its Router, and what waits. Implements RUN-17.

import type { Command } from "commander";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { act, define, withState } from "../Command.ts";
import * as LostStore from "../daemon/LostStore.ts";
import { pathOf, type StateOptions } from "../daemon/Profile.ts";
import * as Readiness from "../daemon/Readiness.ts";
import { withDaemon } from "../daemon/Running.ts";
import { cardLine } from "../text/Cards.ts";
import { standingLines } from "../text/Standing.ts";
import { flagsOf, naming } from "../text/Hints.ts";

const unregistered = (options: StateOptions): string => {
  const unfinished = LostStore.unfinished(StateFolder.at(pathOf(options)));
  return unfinished === null
    ? `No agent yet. Next: \`social-harness join <invite> --name <agent>${flagsOf(options)}\`, or have the host call \`register\`.`
    : `No agent: ${naming(options, unfinished)}`;
};

export const status = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "status",
      summary: "show which agent the endpoint is, whether it is connected, and what waits",
      examples: [
        ["status", "the default profile"],
        ["status --profile work --json", "another one, for a program; `health` says how it stands"],
      ],
    }),
  );
  act<StateOptions, []>(command, ({ output, options }) =>
    withDaemon(options, async ({ client, ...served }) => {
      const [result, health] = await output.during(
        "Asking the daemon",
        Promise.all([client.call("status"), Readiness.read(served)]),
      );
      const lines =
        result.kind === "active"
          ? [cardLine(result.agentCard), ...standingLines(output, health, options)]
          : [unregistered(options)];
      const { mcpUrl, mode } = served;
      output.result({ ...result, mode, health }, [...lines, `MCP at ${mcpUrl}, mode ${mode}`].join("\n"));
    }),
  );
};
