// `ack`: tells the endpoint that items have been taken over, so that they leave the inbox.

import type { Command } from "commander";
import type { DeliveryToken } from "@social-harness/protocol/identity/Identifier";
import * as Arguments from "../Arguments.ts";
import { act, define, withState } from "../Command.ts";
import type { DaemonClient } from "../daemon/DaemonClient.ts";
import { ofReason } from "../daemon/Explain.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withDaemon } from "../daemon/Running.ts";
import * as Several from "../daemon/Several.ts";
import { Failure } from "../Failure.ts";

/** By its event id, under which an item stays readable: that takes nothing out of the inbox. */
const known = async (client: DaemonClient, deliveryToken: DeliveryToken): Promise<void> => {
  try {
    await client.call("read_event", { eventId: deliveryToken.replace(/^dlv_/, "evt_") });
  } catch (error) {
    throw error instanceof Failure && error.reason === "unknown-event" ? ofReason("unknown-delivery") : error;
  }
};

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
      await Several.lookUp(tokens, (token) => known(client, token));
      for (const deliveryToken of tokens) await client.call("acknowledge_delivery", { deliveryToken });
      output.result({}, tokens.length === 1 ? "acknowledged" : `${tokens.length} items acknowledged`);
    });
  });
};
