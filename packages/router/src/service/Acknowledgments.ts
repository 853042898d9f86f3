// Acknowledgments on their way to the disk: the furthest cursor of each agent, written together after a moment. Losing
// the last of them in a crash only repeats deliveries that the endpoint recognises. Implements RTR-33.

import type { LogTrouble } from "@social-harness/log/LogTrouble";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "../Limits.ts";
import type { RouterStore } from "./RouterStore.ts";

export interface Acknowledgments {
  readonly note: (agentId: AgentId, cursor: number) => void;
  /** The furthest cursor that is noted but perhaps not on disk yet; 0 when none is. */
  readonly noted: (agentId: AgentId) => number;
  readonly close: () => Promise<void>;
}

export const makeAcknowledgments = (
  store: RouterStore,
  trouble: Pick<LogTrouble, "failed" | "worked">,
): Acknowledgments => {
  let waiting = new Map<AgentId, number>();
  let writing: ReadonlyMap<AgentId, number> = new Map();
  let timer: NodeJS.Timeout | undefined;
  let flushed = Promise.resolve();

  const noted = (agentId: AgentId): number => Math.max(waiting.get(agentId) ?? 0, writing.get(agentId) ?? 0);

  const writeWaiting = async (): Promise<void> => {
    timer = undefined;
    writing = waiting;
    waiting = new Map();
    try {
      if (writing.size > 0) {
        await store.acknowledge(writing);
        trouble.worked("beside");
      }
    } catch (error) {
      trouble.failed(error, "beside");
      for (const agentId of writing.keys()) waiting.set(agentId, noted(agentId));
      schedule();
    }
    writing = new Map();
  };

  /** One write at a time, each with everything that came during the last. */
  const flush = (): Promise<void> => {
    flushed = flushed.then(writeWaiting);
    return flushed;
  };

  const schedule = (): void => {
    timer ??= setTimeout(() => void flush(), Limits.acknowledgeDelayMs);
  };

  return {
    note: (agentId, cursor) => {
      waiting.set(agentId, Math.max(cursor, noted(agentId)));
      schedule();
    },
    noted,
    close: async () => {
      clearTimeout(timer);
      await flush();
      clearTimeout(timer);
    },
  };
};
