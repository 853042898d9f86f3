// `network show`: what everybody may know about a network. Never a credential. Implements RUN-08.

import type { Command } from "commander";
import { act, define } from "../Command.ts";
import * as NetworkFolder from "../network/NetworkFolder.ts";
import type { DataOptions } from "../network/DataOption.ts";
import { withData } from "../network/DataOption.ts";
import { announcementLines } from "../text/Network.ts";

export const networkShow = (parent: Command): void => {
  const command = withData(
    define(parent, {
      name: "show",
      summary: "print a network's addresses, keys and invite, without any credential",
      examples: [["network show --data ./net", "safe to publish"]],
    }),
  );
  act<DataOptions, []>(command, async ({ output, options }) => {
    const { folder, keys } = NetworkFolder.open(options.data);
    const announcement = NetworkFolder.announcement(NetworkFolder.description(folder, keys));
    const admits = `admits nobody by itself, unless admission is open; see: social-harness network invite create --data ${options.data}`;
    output.result(announcement, announcementLines(output, announcement, admits));
  });
};
