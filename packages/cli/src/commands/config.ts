// `config check`: what a daemon of this endpoint would run under and where each setting comes from, or everything that is wrong
// with it. Starts nothing and changes nothing. Implements RUN-140 and RUN-141.

import type { Command } from "commander";
import * as RulesFile from "@social-harness/endpoint/firewall/RulesFile";
import * as Limits from "@social-harness/endpoint/firewall/Limits";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as PrivateFile from "@social-harness/endpoint/state/PrivateFile";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Tokens from "@social-harness/endpoint/state/Tokens";
import { act, define, exampleLines, withState } from "../Command.ts";
import * as Flags from "../daemon/Flags.ts";
import { pathOf, type StateOptions } from "../daemon/Profile.ts";
import { failed } from "../Failure.ts";
import { count } from "../Output.ts";

/** Of the firewall's file; null where there is none. */
const rulesOf = (path: string): number | null => {
  const text = PrivateFile.read(path, Limits.fileBytesMax);
  if (text === null) return null;
  try {
    const file = RulesFile.parse(text);
    return file.rules?.length ?? 0;
  } catch (error) {
    if (!(error instanceof RulesFile.RulesProblem)) throw error;
    throw failed(
      "firewall-invalid",
      `firewall.json: ${error.message}`,
      "Correct what is named there; until then a daemon holds every message.",
      error,
    );
  }
};

const shown = ({ field, value, from }: Configuration.Setting): string => {
  const text =
    value === undefined ? (from === "default" ? "-" : "(set)") : [value].flat().join(", ") || "nobody";
  return `${field.padEnd(12)} ${text}  (${from})`;
};

const configCheck = (parent: Command): void => {
  const command = Flags.withFlags(
    withState(
      define(parent, {
        name: "check",
        summary: "show what a daemon would run under and where it comes from, or what is wrong with it",
        examples: [
          ["config check", "the default profile"],
          ["config check --state ./alice --port 0", "with a flag that the daemon would get"],
        ],
      }),
    ),
  );
  act<StateOptions & Flags.Flags, []>(command, async ({ output, options }) => {
    const folder = StateFolder.at(pathOf(options));
    const sources = Flags.sourcesOf(options);
    const settings = Configuration.explain(folder, sources);
    Tokens.demandUsable(folder, Configuration.load(folder, sources).mode);
    const firewallRules = rulesOf(folder.firewall);
    const firewall = firewallRules === null ? "none" : count(firewallRules, "rule");
    output.result(
      { valid: true, path: folder.path, settings, firewallRules },
      [...settings.map(shown), `firewall     ${firewall}`, `Everything in ${folder.path} can be used.`].join(
        "\n",
      ),
    );
  });
};

export const config = (parent: Command): void => {
  const command = parent
    .command("config")
    .description("check what an endpoint is configured to do")
    .addHelpText("after", exampleLines([["config check", "before the daemon is started again"]]));
  configCheck(command);
};
