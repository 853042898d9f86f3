// `ack`: tells the endpoint that items have been taken over, so that they leave the inbox.

import type { Command } from "commander";
import * as Arguments from "../Arguments.ts";
import { act, define, withState } from "../Command.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withDaemon } from "../daemon/Running.ts";

export const ack = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "ack",
      summary: "acknowledge inbox items by their tokens",
      examples: [["ack dlv_...", "the token that `inbox` shows; repeating it is harmless"]],
    }),
  ).argument("<token...>", "delivery tokens");
  act<StateOptions, [ReadonlyArray<string>]>(command, async ({ output, options }, words) => {
    const tokens = words.map(Arguments.deliveryToken);
    await withDaemon(options, async ({ client }) => {
      for (const deliveryToken of tokens) await client.call("acknowledge_delivery", { deliveryToken });
      output.result({}, tokens.length === 1 ? "acknowledged" : `${tokens.length} items acknowledged`);
    });
  });
};
