// `status`: whether this endpoint has an agent, and which.

import type { Command } from "commander";
import { act, define, withState } from "../Command.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withDaemon } from "../daemon/Running.ts";
import { cardLine } from "../text/Cards.ts";

export const status = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "status",
      summary: "show whether the endpoint runs and which agent it is",
      examples: [
        ["status", "the default profile"],
        ["status --profile work --json", "another one, for a program"],
      ],
    }),
  );
  act<StateOptions, []>(command, ({ output, options }) =>
    withDaemon(options, async ({ client, mcpUrl }) => {
      const result = await output.during("Asking the daemon", client.call("status"));
      const who =
        result.kind === "active"
          ? cardLine(result.agentCard)
          : "No agent yet. Next: `social-harness join <invite> --name <agent>`.";
      output.result(result, `${who}\nMCP at ${mcpUrl}`);
    }),
  );
};
