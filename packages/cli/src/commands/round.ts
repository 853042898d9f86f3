// `round wish`: has a conversation go on in a new round, as its owner's cause. Implements RUN-45.

import type { Command } from "commander";
import * as Arguments from "../Arguments.ts";
import { act, define, exampleLines, withState } from "../Command.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withOwnerPaths } from "../daemon/Running.ts";
import { type Conversation, wishRound } from "../daemon/Wishing.ts";
import { wishedLines } from "../text/Rounds.ts";

const conversationOf = (text: string): Conversation =>
  text.startsWith("cnv_")
    ? { conversationId: Arguments.conversationId(text) }
    : { address: Arguments.conversation(text) };

const wish = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "wish",
      summary: "ask a conversation's members to go on in a new round",
      examples: [
        ["round wish agent:bob-agent", "when the conversation with bob-agent is stuck"],
        ["round wish group:ada-agent,bob-agent,cyd-agent", "a group, by its complete address"],
        ["round wish cnv_... --json", "by its id; what came of it, for a program"],
      ],
    }),
  ).argument("<conversation>", "its address, as `history` lists it, or its id");
  act<StateOptions, [string]>(command, async ({ output, options }, written) => {
    const conversation = conversationOf(written);
    const wished = await output.during(
      "Asking the daemon",
      withOwnerPaths(options, (served) => wishRound(served, conversation)),
    );
    output.result(wished, wishedLines(wished).join("\n"));
  });
};

export const round = (parent: Command): void => {
  const command = parent
    .command("round")
    .description("have a conversation go on in a new round")
    .addHelpText(
      "after",
      exampleLines([["round wish agent:bob-agent", "when the conversation with bob-agent is stuck"]]),
    );
  wish(command);
};
