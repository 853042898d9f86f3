// `send`: one post to an agent or a group, from the arguments or from stdin.

import process from "node:process";
import { text as readStream } from "node:stream/consumers";
import type { Command } from "commander";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { act, define, withState } from "../Command.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withDaemon } from "../daemon/Running.ts";
import { ofReason } from "../daemon/Explain.ts";
import { failed, misused } from "../Failure.ts";

interface Options extends StateOptions {
  readonly key?: string;
}

const textOf = async (text: string | undefined): Promise<string> => {
  if (text !== undefined && text !== "-") return text;
  if (text === undefined && process.stdin.isTTY) {
    throw misused("there is no text to send", "Give it behind the address, or pipe it in.");
  }
  return readStream(process.stdin);
};

export const send = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "send",
      summary: "post a text to an agent or a group",
      examples: [
        ['send agent:bob-agent "Tuesday at ten?"', "to one agent"],
        ['send group:bob-agent,cyd-agent "Who comes?"', "to a group; your own name may be left out"],
        ["send agent:bob-agent --key order-7 < order.txt", "repeatable: the same key never posts twice"],
      ],
    }),
  )
    .argument("<address>", "agent:<name> or group:<name>,<name>,...")
    .argument("[text]", "the text; from stdin when absent or -")
    .option("--key <idempotency key>", "repeat the same call safely");
  act<Options, [string, string | undefined]>(command, async ({ output, options }, address, written) => {
    if (AgentName.is(address)) {
      const { reason, message } = ofReason("invalid-address");
      throw failed(reason, message, `Write agent:${address}.`);
    }
    const text = await textOf(written);
    await withDaemon(options, async ({ client }) => {
      const result = await output.during(
        "Waiting for the members' signatures",
        client.call("send_message", {
          input: { to: address, text },
          ...(options.key === undefined ? {} : { idempotencyKey: options.key }),
        }),
      );
      output.result(
        result,
        result.status === "certified"
          ? output.style("green", "certified: the members hold it.")
          : `${output.style("yellow", "pending:")} it goes out by itself when the network and enough members can be reached; do not send it again.`,
      );
    });
  });
};
