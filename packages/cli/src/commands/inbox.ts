// `inbox`: what waits to be acknowledged, and with --follow what comes in. Following asks again and again and opens no
// events stream: the newest stream takes over, and a person's look must not silence the host. Implements RUN-13.

import type { Command } from "commander";
import { setTimeout as sleep } from "node:timers/promises";
import * as Arguments from "../Arguments.ts";
import { act, define, withState, type Context } from "../Command.ts";
import type { DaemonClient } from "../daemon/DaemonClient.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withDaemon } from "../daemon/Running.ts";
import { Failure, misused } from "../Failure.ts";
import { itemLines, type Delivery } from "../text/Items.ts";
import { untilStopped } from "../Waiting.ts";

interface Options extends StateOptions {
  readonly cursor?: string;
  readonly follow?: boolean;
}

/** A traversal is repeated after this, or after four times its own length where the inbox is long. */
const pauseMsMin = 250;
/** How long a daemon may be away, for example to be restarted, before following gives up. */
const awayMsMax = 60_000;

const readPages = async function* (client: DaemonClient): AsyncGenerator<Delivery> {
  let cursor: string | undefined;
  do {
    const page = await client.call("read_inbox", cursor === undefined ? {} : { cursor });
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
};

const list = async ({ output, options }: Context<Options>): Promise<void> => {
  if (options.cursor !== undefined) Arguments.inboxCursor(options.cursor);
  await withDaemon(options, async ({ client }) => {
    const page = await output.during(
      "Reading the inbox",
      client.call("read_inbox", options.cursor === undefined ? {} : { cursor: options.cursor }),
    );
    const items = page.items.map((delivery) => itemLines(output, delivery));
    const more = page.nextCursor === undefined ? [] : [`There are more: --cursor ${page.nextCursor}`];
    output.result(page, items.length === 0 ? "Nothing waits." : [...items, ...more].join("\n\n"));
  });
};

const isAway = (error: unknown): boolean => error instanceof Failure && error.exitCode === 3;

const followUntil = async ({ output, options }: Context<Options>, signal: AbortSignal): Promise<void> => {
  let shown = new Set<string>();
  let lastSeen: number | null = null;
  for (;;) {
    try {
      await withDaemon(options, async ({ client }) => {
        for (;;) {
          const started = performance.now();
          const waiting = new Set<string>();
          for await (const delivery of readPages(client)) {
            waiting.add(delivery.deliveryToken);
            if (!shown.has(delivery.deliveryToken))
              output.result(delivery, `${itemLines(output, delivery)}\n`);
            shown.add(delivery.deliveryToken);
          }
          // What was acknowledged does not come back, so what is no longer waiting need not be remembered.
          shown = waiting;
          lastSeen = performance.now();
          await sleep(Math.max(pauseMsMin, 4 * (lastSeen - started)), undefined, { signal });
        }
      });
    } catch (error) {
      if (!isAway(error) || lastSeen === null || performance.now() - lastSeen > awayMsMax) throw error;
      await sleep(pauseMsMin, undefined, { signal });
    }
  }
};

/** Told to stop, it has done what it was asked to: that is no failure. */
const follow = async (context: Context<Options>): Promise<void> => {
  if (context.options.cursor !== undefined)
    throw misused("--follow takes no --cursor", "Leave one of them out.");
  const stopping = new AbortController();
  void untilStopped().then(() => stopping.abort());
  try {
    await followUntil(context, stopping.signal);
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
  }
};

export const inbox = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "inbox",
      summary: "show items that wait to be acknowledged",
      json: "print one JSON object as the last line of stdout; with --follow, one in each line",
      examples: [
        ["inbox", "the oldest 50"],
        ["inbox --follow", "each item once, as it comes in; nothing is acknowledged"],
        ["inbox --follow --json", "one JSON object a line"],
      ],
    }),
  )
    .option("--cursor <cursor>", "the next page, as the last one named it")
    .option("--follow", "go on until interrupted; Ctrl-C ends it with exit code 0");
  act<Options, []>(command, (context) => (context.options.follow === true ? follow(context) : list(context)));
};
