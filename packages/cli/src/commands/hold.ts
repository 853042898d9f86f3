// `hold`: what the firewall keeps from the model: look at it, discard it, or release it where the rules allow that. The owner's
// word, so the owner's token is shown in both modes. Implements ING-166.

import type { Command } from "commander";
import type { HoldId } from "@social-harness/endpoint/firewall/HoldId";
import * as Arguments from "../Arguments.ts";
import { act, define, exampleLines, withState } from "../Command.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import * as Readiness from "../daemon/Readiness.ts";
import { withOwnedDaemon } from "../daemon/Running.ts";
import * as Several from "../daemon/Several.ts";
import { naming } from "../text/Hints.ts";
import { endedLine, holdContentLines, holdPageLines, withoutFirewall } from "../text/Holds.ts";

interface ListOptions extends StateOptions {
  readonly after?: string;
}

const list = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "list",
      summary: "show which messages are held, without their content",
      examples: [
        ["hold list", "the oldest 50"],
        ["hold list --json", "for a program; hasMore says whether others follow"],
      ],
    }),
  ).option("--after <hold id>", "only those after this one, which may have ended");
  act<ListOptions, []>(command, async ({ output, options }) => {
    const input = options.after === undefined ? {} : { afterHoldId: Arguments.holdId(options.after) };
    const [page, health] = await output.during(
      "Asking the daemon",
      withOwnedDaemon(options, ({ client, ...served }) =>
        Promise.all([client.call("list_holds", input), Readiness.read(served)]),
      ),
    );
    const lines = [...holdPageLines(output, page), ...withoutFirewall(health)];
    output.result(page, naming(options, lines.join("\n")));
  });
};

const show = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "show",
      summary: "show one held message, also after it has ended",
      examples: [["hold show hld_...", "by the id that `hold list` shows"]],
    }),
  ).argument("<hold id>", "as `hold list` shows it");
  act<StateOptions, [string]>(command, async ({ output, options }, written) => {
    const holdId = Arguments.holdId(written);
    const held = await output.during(
      "Asking the daemon",
      withOwnedDaemon(options, ({ client }) => client.call("read_hold", { holdId })),
    );
    output.result(held, holdContentLines(output, held).join("\n"));
  });
};

interface Ending {
  readonly name: "discard" | "release";
  readonly tool: "discard_hold" | "release_hold";
  readonly summary: string;
  readonly effect: string;
}

const ending = (parent: Command, { name, tool, summary, effect }: Ending): void => {
  const command = withState(
    define(parent, { name, summary, examples: [[`hold ${name} hld_...`, effect]] }),
  ).argument("<hold id...>", "as `hold list` shows them");
  act<StateOptions, [ReadonlyArray<string>]>(command, async ({ output, options }, words) => {
    const holdIds = words.map(Arguments.holdId);
    const ended: Array<{ readonly holdId: HoldId; readonly kind: "discarded" | "released" }> = [];
    await withOwnedDaemon(options, async ({ client }) => {
      await Several.lookUp(holdIds, (holdId) => client.call("read_hold", { holdId }));
      for (const holdId of holdIds) ended.push({ holdId, ...(await client.call(tool, { holdId })) });
    });
    output.result({ holds: ended }, ended.map((one) => endedLine(one, name)).join("\n"));
  });
};

export const hold = (parent: Command): void => {
  const command = parent
    .command("hold")
    .description("look at the messages that the firewall holds, and decide about them")
    .addHelpText(
      "after",
      exampleLines([
        ["hold list", "which messages are held, and why"],
        ["hold show hld_...", "what one of them says"],
        ["hold discard hld_...", "so that the model never sees it"],
      ]),
    );
  list(command);
  show(command);
  ending(command, {
    name: "discard",
    tool: "discard_hold",
    summary: "decide that messages never reach the model",
    effect: "it can still be shown; repeating this is harmless",
  });
  ending(command, {
    name: "release",
    tool: "release_hold",
    summary: "let messages through after their turn, where firewall.json has allowRelease",
    effect: "the model sees it marked as released",
  });
};
