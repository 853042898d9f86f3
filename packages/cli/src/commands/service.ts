// `service`: has the machine's own manager start this endpoint's daemon and start it again, or no more. Implements RUN-151 to
// RUN-153, RUN-250 and RUN-281 to RUN-283.

import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as PrivateFile from "@social-harness/endpoint/state/PrivateFile";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Tokens from "@social-harness/endpoint/state/Tokens";
import { act, define, exampleLines, withState, type Context } from "../Command.ts";
import * as Port from "../daemon/Port.ts";
import { joinFirst, pathOf, type StateOptions } from "../daemon/Profile.ts";
import * as Located from "../daemon/Located.ts";
import { demandStartable } from "../daemon/Startable.ts";
import { Failure, failed } from "../Failure.ts";
import { capture } from "../service/Capture.ts";
import * as Host from "../service/Host.ts";
import {
  isWritable,
  type Manager,
  mayRun,
  missingOf,
  nameOf,
  type Service,
  type Standing,
  type Step,
} from "../service/Service.ts";
import * as Hints from "../text/Hints.ts";

interface Options extends StateOptions {
  readonly dryRun?: boolean;
}

const typed = (steps: ReadonlyArray<Step>): ReadonlyArray<string> => steps.map((step) => step.join(" "));

/** Throws with the rest of the steps where one of them fails. */
const perform = async (steps: ReadonlyArray<Step>, what: string): Promise<void> => {
  for (const [index, step] of steps.entries()) {
    const done = await capture(step);
    if (done.ok) continue;
    const rest = typed(steps.slice(index)).join(" && ");
    throw failed(
      "service-manager-failed",
      `${what}, but \`${step.join(" ")}\` failed: ${done.why}`,
      `Run by hand: ${rest}`,
    );
  }
};

/** The process that holds the folder now; null where none does. */
const holderOf = (options: StateOptions): number | null => {
  try {
    return Located.find(options).pid;
  } catch (error) {
    if (error instanceof Failure && error.reason === "daemon-not-running") return null;
    throw error;
  }
};

/** Of a manager that says nothing; `what` has become of the service so far. */
const unasked = (manager: Manager, { detail }: Standing, what: string): Failure =>
  failed(
    "service-manager-failed",
    `${what}, because ${manager.kind} cannot be asked: ${detail}`,
    manager.unasked,
  );

/**
 * What would keep the daemon from starting is told now, and not in a log that nobody looks at. Returns what goes away by itself
 * until the service is installed: a daemon that still holds the folder.
 */
const demandReady = async (
  service: Service,
  { active, pid }: Standing,
  options: Options,
): Promise<Failure | null> => {
  const folder = StateFolder.at(service.state);
  const { path } = folder;
  if (!existsSync(path)) throw failed("no-folder", `there is no folder ${path}`, joinFirst);
  // The service gets none of this environment, so only the file counts.
  const configuration = Configuration.load(folder, {});
  const [bad] = Tokens.troublesAtStart(folder, configuration.mode);
  if (bad !== undefined) throw bad;
  await demandStartable(folder, configuration, false);
  const holder = holderOf(options);
  if (holder === null && active !== true) await Port.demandFree(folder, configuration.port, null);
  if (holder === null || holder === pid) return null;
  return failed(
    "daemon-running",
    active === null
      ? `a daemon holds ${path} (pid ${holder}), and nobody here can say whether it is the service`
      : `a daemon that is no service holds ${path} (pid ${holder})`,
    "Stop it, then install the service.",
  );
};

const isSame = (path: string, text: string): boolean =>
  existsSync(path) && readFileSync(path, "utf8") === text;

const install = async ({ output, options }: Context<Options>): Promise<void> => {
  const manager = Host.manager();
  const service = Host.serviceOf(pathOf(options));
  const path = manager.pathOf(service.name);
  if (!isWritable(service)) {
    throw failed(
      "service-unwritable",
      "a path of the service has a control character in it, which no unit can hold",
      "Move the folder, or the certificate, to another name.",
    );
  }
  const text = manager.textOf(service);
  const steps = manager.starting(service.name);
  const standing = await manager.standing(service.name);
  const held = await demandReady(service, standing, options);
  if (options.dryRun === true) {
    if (held !== null) output.remark(`${held.message}. ${held.next}`);
    return output.result(
      { name: service.name, path, text, commands: typed(steps), installed: false },
      `# ${path}\n${text}\n# then\n${typed(steps).join("\n")}`,
    );
  }
  if (held !== null) throw held;
  if (standing.active === null) throw unasked(manager, standing, "nothing was written");
  const changed = !isSame(path, text);
  if (existsSync(path) && mayRun(standing))
    await perform(manager.stopping(service.name), "the unit was not changed");
  mkdirSync(dirname(path), { recursive: true });
  if (changed) PrivateFile.replace(path, text);
  await output.during("Starting the service", perform(steps, `${path} is written`));
  if (Host.isPassing(service)) {
    output.remark(
      "It starts what npx keeps in its cache, which may go. Better: npm install --global social-harness, and install again.",
    );
  }
  output.result(
    { name: service.name, path, installed: true, changed },
    `Installed ${service.name} (${path}).\n${manager.advice}`,
  );
};

const uninstall = async ({ output, options }: Context<Options>): Promise<void> => {
  const manager = Host.manager();
  const name = nameOf(StateFolder.at(pathOf(options)).path);
  const path = manager.pathOf(name);
  const steps = manager.stopping(name);
  if (options.dryRun === true) {
    const commands = typed([...steps, ...manager.afterRemoval]);
    return output.result(
      { name, path, commands, removed: false },
      [...commands, `# and ${path} is removed`].join("\n"),
    );
  }
  if (!existsSync(path)) return output.result({ name, path, removed: false }, `${name} is not installed.`);
  const standing = await manager.standing(name);
  const isAsked = standing.active !== null;
  // A unit must not go from under a service that runs; one that no daemon runs for is only a file.
  if (!isAsked && holderOf(options) !== null)
    throw unasked(manager, standing, "nothing was removed while a daemon holds the folder");
  if (isAsked && mayRun(standing)) await perform(steps, "nothing was removed");
  for (const one of [path, ...manager.linksOf(name)]) rmSync(one, { force: true });
  if (isAsked) await perform(manager.afterRemoval, `${path} is removed`);
  const lack = isAsked
    ? ""
    : `\n${manager.kind} could not be asked (${standing.detail}): no daemon runs on the folder, so its files were removed.`;
  output.result({ name, path, removed: true }, `Removed ${name}. The state folder is as it was.${lack}`);
};

const status = async ({ output, options }: Context<Options>): Promise<void> => {
  const manager = Host.manager();
  const name = nameOf(StateFolder.at(pathOf(options)).path);
  const path = manager.pathOf(name);
  const isInstalled = existsSync(path);
  const missing = isInstalled ? missingOf(manager.commandIn(readFileSync(path, "utf8"))) : null;
  const again = Hints.naming(options, "install it again with `social-harness service install`");
  const lack = missing === null ? "" : `\nWhat it starts is no longer there (${missing}): ${again}.`;
  const standing = isInstalled
    ? await manager.standing(name)
    : { active: null, enabled: null, pid: null, detail: "not installed" };
  const daemon = holderOf(options);
  const served = daemon === null ? "No daemon runs." : `A daemon runs (pid ${daemon}).`;
  output.result(
    { name, path, manager: manager.kind, installed: isInstalled, ...standing, daemon, missing },
    `${name}: ${standing.detail}\n${served}${lack}`,
  );
  if (isInstalled && standing.active === null)
    throw unasked(manager, standing, "how the service does is not known");
};

const commands: ReadonlyArray<
  readonly [name: string, summary: string, example: string, run: typeof install]
> = [
  [
    "install",
    "have this machine start the endpoint's daemon, now and at each log-in",
    "run it from now on",
    install,
  ],
  ["uninstall", "stop the daemon and have it started no more", "and no more", uninstall],
  ["status", "show whether the service is installed and runs", "how it does", status],
];

export const service = (parent: Command): void => {
  const command = parent
    .command("service")
    .description("run the daemon as a service of your user: systemd, or launchd on macOS")
    .addHelpText(
      "after",
      exampleLines([
        ["service install --dry-run", "look at what would be written and run"],
        ["service install --profile work", "run it from now on"],
      ]),
    );
  for (const [name, summary, effect, run] of commands) {
    const one = withState(define(command, { name, summary, examples: [[`service ${name}`, effect]] }));
    if (run !== status) one.option("--dry-run", "show what would be done, and do nothing");
    act<Options, []>(one, run);
  }
};
