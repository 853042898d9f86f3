// `export`: writes a conversation as a file that anyone can verify, or to stdout.

import process from "node:process";
import type { Command } from "commander";
import { count } from "../Output.ts";
import * as Arguments from "../Arguments.ts";
import { act, define, withState } from "../Command.ts";
import { exportOf, writeWhole } from "../daemon/Exporting.ts";
import { pathOf, type StateOptions } from "../daemon/Profile.ts";
import { withDaemon } from "../daemon/Running.ts";

interface Options extends StateOptions {
  readonly output?: string;
}

export const exportConversation = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "export",
      summary: "write a conversation as a file that anyone can verify",
      examples: [
        ["export agent:bob-agent --output talk.jsonl", "the direct conversation with bob-agent"],
        ["export group:ada-agent,bob-agent,cyd-agent > talk.jsonl", "a group, to stdout"],
      ],
    }),
  )
    .argument("<address>", "as `history` lists it")
    .option(
      "-o, --output <file>",
      "where to; stdout when absent, also with --json: the export's own lines, of which the last is its end line",
    );
  act<Options, [string]>(command, async ({ output, options }, written) => {
    const address = Arguments.conversation(written);
    await withDaemon(options, async ({ client }) => {
      const { lines, records } = await output.during(
        "Reading the record",
        exportOf(client, pathOf(options), address),
      );
      if (options.output === undefined) {
        // The export is the result: its end line is the one JSON object that stands last.
        for (const line of lines) process.stdout.write(line);
        return;
      }
      await writeWhole(options.output, lines);
      const headRecordHash = records.at(-1)?.recordHash;
      output.result(
        { address, file: options.output, records: records.length, headRecordHash },
        `${count(records.length, "record")} of ${address} in ${options.output}`,
      );
      output.remark(`check it anywhere with: social-harness verify ${options.output} --registry-key <key>`);
    });
  });
};
