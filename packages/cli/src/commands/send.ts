// `send`: one post to an agent or a group, from the arguments or from stdin.

import process from "node:process";
import type { Command } from "commander";
import * as Arguments from "../Arguments.ts";
import { act, define, withState } from "../Command.ts";
import * as Explain from "../daemon/Explain.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withDaemon } from "../daemon/Running.ts";
import { sendPost, waitsOf } from "../daemon/Sending.ts";
import { misused } from "../Failure.ts";
import * as Stdin from "../Stdin.ts";
import { flagsOf } from "../text/Hints.ts";

interface Options extends StateOptions {
  readonly key?: string;
}

const textOf = async (text: string | undefined): Promise<string> => {
  const next = "Give it behind the address, or pipe it in.";
  if (text === "") throw misused("the text is empty", next);
  if (text !== undefined && text !== "-") return text;
  if (text === undefined && process.stdin.isTTY) {
    throw misused("there is no text to send", next);
  }
  return Stdin.text({ next, tooLong: Explain.ofReason("content-invalid") });
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
    .argument("[text]", "the text; from stdin when absent or -, in UTF-8 and without its last line end")
    .option("--key <idempotency key>", "repeat the same call safely");
  act<Options, [string, string | undefined]>(command, async ({ output, options }, address, written) => {
    const to = Arguments.destination(address);
    if (options.key !== undefined) Arguments.idempotencyKey(options.key);
    const text = await textOf(written);
    await withDaemon(options, async (running) => {
      const post = { to, text, ...(options.key === undefined ? {} : { key: options.key }) };
      const result = await output.during(
        "Waiting for the members' signatures",
        sendPost(running.client, post),
      );
      if (result.status === "certified") {
        return output.result(result, output.style("green", "certified: the members hold it."));
      }
      const waits = await waitsOf(running, result);
      const back =
        result.postId === undefined
          ? ""
          : `\nTake it back with \`social-harness withdraw ${result.postId}${flagsOf(options)}\`.`;
      const line = `${output.style("yellow", "pending:")} ${waits.explanation}${back}`;
      return output.result({ ...result, waits }, line);
    });
  });
};
