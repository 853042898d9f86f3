// `config check`: what a daemon of this endpoint would run under and where each setting comes from, and how far the one that
// runs goes by it; or everything that is wrong. Starts nothing and changes nothing. Implements RUN-140, RUN-141, RUN-273,
// RUN-275 and RUN-278.

import process from "node:process";
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { flag as testFlag } from "@social-harness/endpoint/callbacks/TestCallbacks";
import type * as Configuration from "@social-harness/endpoint/state/Configuration";
import type { Endpoint } from "@social-harness/endpoint/state/EndpointFile";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { act, define, exampleLines, withState } from "../Command.ts";
import * as Flags from "../daemon/Flags.ts";
import * as Holding from "../daemon/Holding.ts";
import * as InForce from "../daemon/InForce.ts";
import * as Located from "../daemon/Located.ts";
import { pathOf, type StateOptions } from "../daemon/Profile.ts";
import * as Readiness from "../daemon/Readiness.ts";
import * as StartCheck from "../daemon/StartCheck.ts";
import { count } from "../Output.ts";
import * as Traces from "../traces/Traces.ts";

type Options = StateOptions & Flags.Flags & { readonly allowTestCallbacks?: true };

const shown = ({ field, value, from }: Configuration.Setting): string => {
  const text =
    value === undefined ? (from === "default" ? "-" : "(set)") : [value].flat().join(", ") || "nobody";
  return `${field.padEnd(12)} ${text}  (${from})`;
};

interface Running {
  readonly pid: number;
  readonly mode: Configuration.Mode;
  /** The settings in which it differs from what a start would take now. */
  readonly differing: ReadonlyArray<Configuration.Field>;
}

/** A daemon that does not answer, or does not prove that it is the one, is compared by what its endpoint.json says alone. */
const runningOf = async (
  options: StateOptions,
  daemon: Endpoint | null,
  configuration: Configuration.Configuration,
): Promise<Running | null> => {
  if (daemon === null) return null;
  const { pid, mcpUrl, mode } = daemon;
  const health = await Located.reach(options)
    .then(() => Readiness.read({ path: pathOf(options), mcpUrl, mode }))
    .catch(() => null);
  return { pid, mode, differing: InForce.differing(configuration, daemon, health) };
};

const runningLines = (running: Running | null): ReadonlyArray<string> => {
  if (running === null) return [];
  const { pid, differing } = running;
  if (differing.length === 0) return [`daemon       pid ${pid} goes by these settings`];
  return [
    `daemon       pid ${pid}: ${InForce.explain(differing, running)}`,
    `             ${InForce.remedy}`,
  ];
};

const tracesLine = (collector: Traces.Collector | null): string => {
  if (collector === null) return "traces       off";
  return `traces       ${collector.host === null ? "(set)" : `to ${collector.host}`}  (${collector.from})`;
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
  ).option(testFlag, "as the daemon would get it");
  act<Options, []>(command, async ({ output, options }) => {
    const folder = StateFolder.at(pathOf(options));
    const daemon = existsSync(folder.path) ? Holding.daemonOf(folder) : null;
    const { settings, configuration, firewallRules } = StartCheck.check({
      folder,
      sources: Flags.sourcesOf(options),
      allowTestCallbacks: options.allowTestCallbacks === true,
      runningMode: daemon?.mode ?? null,
    });
    const running = await runningOf(options, daemon, configuration);
    const traces = Traces.collectorOf(process.env);
    const firewall = firewallRules === null ? "none" : count(firewallRules, "rule");
    output.result(
      { valid: true, path: folder.path, settings, firewallRules, traces, running },
      [
        ...settings.map(shown),
        `firewall     ${firewall}`,
        tracesLine(traces),
        ...runningLines(running),
        `Everything in ${folder.path} can be used.`,
      ].join("\n"),
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
