// A handle on an agent that runs in a process of its own: asks it over JSON lines, and ends it with SIGKILL at any instant.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Health } from "@social-harness/endpoint/operations/Health";
import type { SendResult } from "@social-harness/endpoint/operations/Operations";
import type { OperationFailedItem } from "@social-harness/protocol/delivery/Item";
import type { Answer, Asked, Request } from "./AgentMain.ts";
import type { NetworkAgentOptions } from "./NetworkAgent.ts";

export interface AgentProcess {
  readonly send: (to: string, text: string, idempotencyKey?: string) => Promise<SendResult>;
  readonly texts: () => Promise<ReadonlyArray<string>>;
  /** The items that tell of own posts without their effect. */
  readonly failed: () => Promise<ReadonlyArray<OperationFailedItem>>;
  /** Whether it found its store to be an old copy, and how many conversations have yet to recover. */
  readonly restored: () => Promise<Health["restored"]>;
  /** SIGKILL. What was asked and not answered rejects. */
  readonly kill: () => Promise<void>;
  /** An orderly end. */
  readonly close: () => Promise<void>;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

const main = fileURLToPath(new URL("./AgentMain.ts", import.meta.url));

/** Resolves when the agent is up: its store checked, registered, its mailbox being read. */
export const startAgentProcess = async (
  options: Omit<NetworkAgentOptions, "clock">,
): Promise<AgentProcess> => {
  const child = spawn(process.execPath, [main, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const waiting = new Map<number, Waiting>();
  const up = Promise.withResolvers<void>();
  const over = new Error(`the process of ${options.name} has ended`);
  let asked = 0;

  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line) as Answer | { readonly up: true };
    if ("up" in message) return up.resolve();
    const call = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.failure === undefined) call?.resolve(message.result);
    else call?.reject(new Error(message.failure));
  });
  child.stdin.on("error", () => undefined);
  child.on("exit", () => {
    up.reject(over);
    for (const { reject } of waiting.values()) reject(over);
    waiting.clear();
  });

  const ask = (request: Request): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (child.exitCode !== null || child.signalCode !== null) return reject(over);
      const id = ++asked;
      waiting.set(id, { resolve, reject });
      child.stdin.write(JSON.stringify({ id, request } satisfies Asked) + "\n");
    });

  await up.promise;
  return {
    send: (to, text, idempotencyKey) =>
      ask({
        kind: "send",
        to,
        text,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      }) as Promise<SendResult>,
    texts: () => ask({ kind: "texts" }) as Promise<ReadonlyArray<string>>,
    failed: () => ask({ kind: "failed" }) as Promise<ReadonlyArray<OperationFailedItem>>,
    restored: () => ask({ kind: "restored" }) as Promise<Health["restored"]>,
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
    close: async () => {
      await ask({ kind: "close" });
      child.stdin.end();
      await exited;
    },
  };
};
