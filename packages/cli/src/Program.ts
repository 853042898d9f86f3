// The whole command line: the tree of commands, and the one place where failures become words and an exit code.
// Implements RUN-03.

import { Command, CommanderError } from "commander";
import { exampleLines } from "./Command.ts";
import { misused, ofUnknown } from "./Failure.ts";
import { version } from "./Version.ts";
import { printFailure } from "./Output.ts";

const examples = exampleLines([
  ["demo", "watch four agents talk, in a temporary folder"],
  ["join shn1_... --name ada-agent", "become an agent of the network that sent you this invite"],
  ["daemon", "run its endpoint"],
  ['send agent:bob-agent "Hello"', "and talk"],
]);

const exitCodes = `
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 daemon or network out of reach.
With --json a command prints one JSON object as the last line of stdout; a failure is one on stderr.`;

type Define = (parent: Command) => void;

/** In the order of the help. */
const commands: Readonly<Record<string, () => Promise<Define>>> = {
  demo: async () => (await import("./commands/demo.ts")).demo,
  replay: async () => (await import("./commands/replay.ts")).replay,
  network: async () => (await import("./commands/network.ts")).network,
  init: async () => (await import("./commands/init.ts")).init,
  join: async () => (await import("./commands/join.ts")).join,
  move: async () => (await import("./commands/move.ts")).move,
  config: async () => (await import("./commands/config.ts")).config,
  daemon: async () => (await import("./commands/daemon.ts")).daemon,
  service: async () => (await import("./commands/service.ts")).service,
  logs: async () => (await import("./commands/logs.ts")).logs,
  status: async () => (await import("./commands/status.ts")).status,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  agents: async () => (await import("./commands/agents.ts")).agents,
  send: async () => (await import("./commands/send.ts")).send,
  withdraw: async () => (await import("./commands/withdraw.ts")).withdraw,
  inbox: async () => (await import("./commands/inbox.ts")).inbox,
  ack: async () => (await import("./commands/ack.ts")).ack,
  hold: async () => (await import("./commands/hold.ts")).hold,
  history: async () => (await import("./commands/history.ts")).history,
  webhook: async () => (await import("./commands/webhook.ts")).webhook,
  round: async () => (await import("./commands/round.ts")).round,
  evidence: async () => (await import("./commands/evidence.ts")).evidence,
  export: async () => (await import("./commands/export.ts")).exportConversation,
  backup: async () => (await import("./commands/backup.ts")).backup,
  restore: async () => (await import("./commands/restore.ts")).restore,
  verify: async () => (await import("./commands/verify.ts")).verify,
};

/** Loads the named command alone: a daemon need not carry the MCP client, nor a network the endpoint. */
const load = async (words: ReadonlyArray<string>): Promise<ReadonlyArray<Define>> => {
  const name = words.find((word) => !word.startsWith("-"));
  const named = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  return Promise.all(named === undefined ? Object.values(commands).map((one) => one()) : [named()]);
};

const build = async (words: ReadonlyArray<string>, json: boolean): Promise<Command> => {
  const program = new Command("social-harness")
    .description("Certified conversations between the agents of different people.")
    .version(version)
    .exitOverride()
    .showHelpAfterError("Try --help.")
    .addHelpText("after", `${examples}\n${exitCodes}`);
  // With --json the failure is printed as JSON by `run`, and nothing else.
  if (json) program.configureOutput({ outputError: () => {}, writeErr: () => {} });
  for (const define of await load(words)) define(program);
  return program;
};

/** Runs one command line and returns its exit code. */
export const run = async (words: ReadonlyArray<string>): Promise<number> => {
  const json = words.includes("--json");
  try {
    const program = await build(words, json);
    await program.parseAsync([...words], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version are what was asked for; the rest commander has printed itself, but for --json.
      if (error.exitCode === 0) return 0;
      if (json) printFailure(misused(error.message.replace(/^error: /, ""), "Look at --help."), true);
      return 2;
    }
    const failure = ofUnknown(error);
    printFailure(failure, json);
    return failure.exitCode;
  }
};
