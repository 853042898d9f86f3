// `doctor`: walks the whole way that a message takes, from the folder to a peer, and names the link that is broken and what
// mends it. Posts nothing, and writes nothing that lasts. Implements RUN-192 to RUN-195.

import { existsSync } from "node:fs";
import type { Command } from "commander";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Arguments from "../Arguments.ts";
import { act, define, withState } from "../Command.ts";
import * as Holding from "../daemon/Holding.ts";
import { pathOf, type StateOptions } from "../daemon/Profile.ts";
import * as Daemon from "../doctor/Daemon.ts";
import type { Finding } from "../doctor/Finding.ts";
import * as Folder from "../doctor/Folder.ts";
import * as Services from "../doctor/Services.ts";
import { failed } from "../Failure.ts";
import { count } from "../Output.ts";
import { findingLines } from "../text/Findings.ts";
import { naming } from "../text/Hints.ts";

interface Options extends StateOptions {
  readonly peer?: AgentName;
}

const examine = async (options: Options): Promise<ReadonlyArray<Finding>> => {
  const folder = StateFolder.at(pathOf(options));
  const daemon = existsSync(folder.path) ? Holding.daemonOf(folder) : null;
  const { findings, identity, configuration, registered } = await Folder.examine(folder, daemon);
  const isThere = identity !== null || configuration !== null;
  const beyond = isThere
    ? [
        ...(await Services.examine(configuration, identity, registered)),
        ...(await Daemon.examine(options, folder, configuration)),
      ]
    : [];
  return [...findings, ...beyond].map((finding) => ({ ...finding, next: naming(options, finding.next) }));
};

export const doctor = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "doctor",
      summary: "find the broken link between this endpoint and its peers",
      examples: [
        ["doctor", "folder, services and daemon, with a question to itself over the Router"],
        ["doctor --peer bob-agent", "and one to bob-agent's endpoint; nothing is posted"],
      ],
    }),
  ).option("--peer <name>", "an agent whose endpoint is asked, too", Arguments.agentName);
  act<Options, []>(command, async ({ output, options }) => {
    const findings = await output.during("Walking the way", examine(options));
    const first = findings.find(({ verdict }) => verdict === "broken") ?? null;
    const warnings = findings.filter(({ verdict }) => verdict === "warning").length;
    output.result(
      { ok: first === null, broken: first?.check ?? null, warnings, findings },
      [
        ...findingLines(output, findings),
        ...(first === null
          ? [
              warnings === 0
                ? "The whole way is well."
                : `The way is whole, with ${count(warnings, "warning")}.`,
            ]
          : []),
      ].join("\n"),
    );
    if (first === null) return;
    throw failed("broken-link", `the first broken link is "${first.check}": ${first.message}`, first.next);
  });
};
