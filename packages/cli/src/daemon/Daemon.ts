// The endpoint as this command runs it: with the folder's log, the system's clock and randomness. The endpoint itself
// takes the lock and writes endpoint.json.

import process from "node:process";
import { type Endpoint, startEndpoint } from "@social-harness/endpoint/Endpoint";
import type { Configuration } from "@social-harness/endpoint/state/Configuration";
import * as Log from "@social-harness/endpoint/state/Log";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import * as Tokens from "@social-harness/endpoint/state/Tokens";
import { failed, ofUnknown } from "../Failure.ts";
import * as ProxyEnvironment from "../ProxyEnvironment.ts";
import { noticeOf } from "./Notices.ts";
import * as Traces from "../traces/Traces.ts";
import { random } from "./Profile.ts";

export interface Daemon {
  readonly mcpUrl: string;
  readonly health: Endpoint["health"];
  readonly close: () => Promise<void>;
}

/** What the endpoint's end and the last traces take together: traces get what the endpoint leaves of it. */
const closeMs = 4_000;

/** The port is the one thing that a second endpoint on a machine has to be told. Everything else passes. */
const portTaken = (error: unknown, port: number): unknown =>
  error instanceof Error && "code" in error && error.code === "EADDRINUSE"
    ? failed(
        "cannot-listen",
        `port ${port} is used by another program`,
        "Give another --port; 0 takes any.",
        error,
      )
    : error;

export interface DaemonOptions {
  /** Gets a line for each warning, and whatever else a person wants to see while it runs. */
  readonly notice?: (line: string) => void;
  readonly allowTestCallbacks?: boolean;
}

/** Throws `StateError` with reason `held` when another process has the folder. */
export const start = async (
  folder: StateFolder,
  configuration: Configuration,
  { notice, allowTestCallbacks = false }: DaemonOptions = {},
): Promise<Daemon> => {
  const log = Log.open({
    folder: folder.logs,
    level: configuration.logLevel,
    clock: Date.now,
    secrets: () => Tokens.secrets(folder),
  });
  const traces = await Traces.open(process.env, "social-harness-daemon", (line) => {
    log.write("warn", line);
    notice?.(line);
  });
  /** A defect ends the process, and says so where its owner looks. */
  const defect = (error: unknown): void =>
    log.write("error", "the daemon ends on a defect", Log.causeOf(error));
  process.on("uncaughtExceptionMonitor", defect);
  const close = async (msMax?: number): Promise<void> => {
    await traces?.close(msMax);
    process.off("uncaughtExceptionMonitor", defect);
    log.close();
  };
  try {
    const endpoint = await startEndpoint({
      stateFolder: folder,
      configuration,
      logger: (level, event, fields) => {
        log.write(level, event, fields);
        const line = noticeOf(level, event, fields);
        if (line !== null) notice?.(line);
      },
      clock: Date.now,
      random,
      allowTestCallbacks,
      ...ProxyEnvironment.read(),
      ...(traces === null ? {} : { tracer: traces.tracer }),
    });
    return {
      mcpUrl: endpoint.mcpUrl,
      health: endpoint.health,
      close: async () => {
        const begun = performance.now();
        try {
          await endpoint.close();
        } finally {
          await close(closeMs - (performance.now() - begun));
        }
      },
    };
  } catch (error) {
    const failure = ofUnknown(portTaken(error, configuration.port));
    const { reason, message: explanation } = failure;
    // The log of a folder that another daemon holds is that one's.
    if (reason !== "state-held") log.write("error", "the daemon could not start", { reason, explanation });
    await close();
    throw failure;
  }
};
