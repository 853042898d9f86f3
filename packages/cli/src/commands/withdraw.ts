// `withdraw`: takes back an own post that is not certified yet, as its owner. Implements RUN-48.

import type { Command } from "commander";
import * as Arguments from "../Arguments.ts";
import { act, define, withState } from "../Command.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withOwnerPaths } from "../daemon/Running.ts";
import { withdraw as ask, type Withdrawal } from "../daemon/Withdrawing.ts";

const lineOf = (withdrawal: Withdrawal): string => {
  const to = withdrawal.address;
  switch (withdrawal.kind) {
    case "withdrawn":
      return `Withdrawn: the post to ${to} was delivered to no one.`;
    case "recovering":
      return `${to} has yet to recover, and nobody is asked: the post ends by itself then, certified or as an item of the inbox.`;
    case "asked": {
      const when = withdrawal.said ? "" : " as soon as the Router is connected";
      const asked = `The members of ${to} are asked to let it go${when}.`;
      const told = "The inbox says when it is withdrawn; if it was too late, it stands in `history`.";
      if (withdrawal.refusable) return `${asked} ${told}`;
      return (
        `${asked} So many have signed it that the others cannot end it by themselves: it stays pending until it is certified ` +
        `after all, or another post there is. ${told}`
      );
    }
  }
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
