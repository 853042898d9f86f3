// `withdraw`: takes back an own post that is not certified yet, as its owner. Implements RUN-48.

import type { Command } from "commander";
import * as Arguments from "../Arguments.ts";
import { act, define, withState } from "../Command.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withOwnerPaths } from "../daemon/Running.ts";
import { withdraw as ask, type Withdrawal } from "../daemon/Withdrawing.ts";

const lineOf = (withdrawal: Withdrawal): string => {
  const to = withdrawal.address;
  if (withdrawal.kind === "withdrawn") return `Withdrawn: the post to ${to} was delivered to no one.`;
  const when = withdrawal.said
    ? `The members of ${to} are asked to let it go.`
    : `The members of ${to} are asked to let it go as soon as the Router is connected.`;
  return `${when} The inbox says when it is withdrawn; if it was too late, it stands in \`history\`.`;
};

export const withdraw = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "withdraw",
      summary: "take back a post that is not certified yet",
      examples: [
        ["withdraw pst_...", "a pending post, by the id that `send` printed"],
        ["withdraw pst_... --json", "what came of it, for a program"],
      ],
    }),
  ).argument("<post id>", "of an own post, as `send` printed it");
  act<StateOptions, [string]>(command, async ({ output, options }, written) => {
    const postId = Arguments.postId(written);
    const withdrawal = await output.during(
      "Asking the daemon",
      withOwnerPaths(options, (served) => ask(served, postId)),
    );
    output.result(withdrawal, lineOf(withdrawal));
  });
};
