// `agents`: who is registered in the network, one by name or id, or a page in name order.

import type { Command } from "commander";
import * as Arguments from "../Arguments.ts";
import { act, define, withState } from "../Command.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withDaemon } from "../daemon/Running.ts";
import { misused } from "../Failure.ts";
import { cardLine } from "../text/Cards.ts";

interface Options extends StateOptions {
  readonly name?: string;
  readonly id?: string;
  readonly prefix?: string;
  readonly after?: string;
}

const inputOf = ({ name, id, prefix, after }: Options): Readonly<Record<string, string>> => {
  const exact = [name, id].filter((value) => value !== undefined).length;
  if (exact > 1 || (exact === 1 && (prefix !== undefined || after !== undefined))) {
    throw misused("--name, --id and a page (--prefix, --after) exclude each other", "Use one of them.");
  }
  if (name !== undefined) return { agentName: Arguments.agentName(name) };
  if (id !== undefined) return { agentId: Arguments.agentId(id) };
  return {
    ...(prefix === undefined ? {} : { prefix: Arguments.namePrefix(prefix) }),
    ...(after === undefined ? {} : { afterAgentName: Arguments.agentName(after) }),
  };
};

export const agents = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "agents",
      summary: "look for agents of the network",
      examples: [
        ["agents", "the first 100 in name order"],
        ["agents --prefix alv", "whose names begin so"],
        ["agents --name alvarez-agent", "exactly one"],
      ],
    }),
  )
    .option("--name <agent>", "exactly this name")
    .option("--id <agent id>", "exactly this id")
    .option("--prefix <text>", "names that begin so")
    .option("--after <agent>", "names behind this one");
  act<Options, []>(command, async ({ output, options }) => {
    const input = inputOf(options);
    await withDaemon(options, async ({ client }) => {
      const result = await output.during("Asking the Registry", client.call("search_agents", input));
      if (result.kind === "not_found") output.result(result, "No such agent.");
      else if (result.kind === "found") output.result(result, cardLine(result.agentCard));
      else {
        const last = result.agentCards.at(-1)?.agentName;
        const more = result.hasMore && last !== undefined ? [`There are more: --after ${last}`] : [];
        const lines = result.agentCards.length === 0 ? ["No agents."] : result.agentCards.map(cardLine);
        output.result(result, [...lines, ...more].join("\n"));
      }
    });
  });
};
