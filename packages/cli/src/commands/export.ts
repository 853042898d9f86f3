// `export`: writes a conversation as a file that anyone can verify, or to stdout.

import { existsSync } from "node:fs";
import process from "node:process";
import type { Command } from "commander";
import { count } from "../Output.ts";
import * as Arguments from "../Arguments.ts";
import { act, define, withState } from "../Command.ts";
import { exportOf, writeWhole } from "../daemon/Exporting.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withDaemon } from "../daemon/Running.ts";
import { namingUnknown } from "../daemon/UnknownNames.ts";
import { failed } from "../Failure.ts";

interface Options extends StateOptions {
  readonly output?: string;
  readonly force?: boolean;
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
    )
    .option("--force", "replace the file where it exists");
  act<Options, [string]>(command, async ({ output, options }, written) => {
    const address = Arguments.conversation(written);
    const { output: file } = options;
    if (file !== undefined && options.force !== true && existsSync(file)) {
      throw failed(
        "file-exists",
        `${file} exists already`,
        "Give another --output, or --force to replace it.",
      );
    }
    await withDaemon(options, async ({ client, path }) => {
      const { lines, records } = await output.during(
        "Reading the record",
        namingUnknown(client, address, () => exportOf(client, path, address)),
      );
      if (file === undefined) {
        // The export is the result: its end line is the one JSON object that stands last.
        for (const line of lines) process.stdout.write(line);
        return;
      }
      await writeWhole(file, lines);
      const headRecordHash = records.at(-1)?.recordHash;
      output.result(
        { address, file, records: records.length, headRecordHash },
        `${count(records.length, "record")} of ${address} in ${file}`,
      );
      output.remark(`check it anywhere with: social-harness verify ${file} --registry-key <key>`);
    });
  });
};
