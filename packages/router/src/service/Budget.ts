// How much each agent may send: a token bucket for envelopes and one for bytes, kept across its reconnections.
// Implements RTR-35.

import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "../Limits.ts";

export interface BudgetLimits {
  readonly sendsPerSecond: number;
  readonly sendBurst: number;
  readonly sendBytesPerSecond: number;
  readonly sendBytesBurst: number;
}

export interface Budget {
  /** Takes one envelope of `bytes` from the agent's budget; false, and takes nothing, when that is not left. */
  readonly take: (agentId: AgentId, bytes: number) => boolean;
}

interface Buckets {
  readonly sends: number;
  readonly bytes: number;
  readonly at: number;
}

export const makeBudget = (clock: () => number, limits: BudgetLimits): Budget => {
  const buckets = new Map<AgentId, Buckets>();

  /** What has flowed back since the agent's last send, never more than the burst. */
  const refilled = (agentId: AgentId, now: number): Buckets => {
    const last = buckets.get(agentId);
    if (last === undefined) return { sends: limits.sendBurst, bytes: limits.sendBytesBurst, at: now };
    const seconds = Math.max(0, now - last.at) / 1_000;
    return {
      sends: Math.min(limits.sendBurst, last.sends + seconds * limits.sendsPerSecond),
      bytes: Math.min(limits.sendBytesBurst, last.bytes + seconds * limits.sendBytesPerSecond),
      at: now,
    };
  };

  return {
    take: (agentId, bytes) => {
      const left = refilled(agentId, clock());
      const granted = left.sends >= 1 && left.bytes >= bytes;
      buckets.delete(agentId);
      if (buckets.size >= Limits.budgetsKeptMax) buckets.delete(buckets.keys().next().value as AgentId);
      buckets.set(
        agentId,
        granted ? { sends: left.sends - 1, bytes: left.bytes - bytes, at: left.at } : left,
      );
      return granted;
    },
  };
};
