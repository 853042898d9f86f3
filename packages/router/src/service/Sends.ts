// The sends of one caller: checked, verified, decided by the store, answered. Nothing is said about a send before it is
// on disk, and what one caller has under way is bounded by not reading its socket. Implements RTR-35, RTR-36 and RTR-50.

import type { LogError } from "@social-harness/log/LogError";
import type { LogUse } from "@social-harness/log/LogTrouble";
import { faultOf } from "@social-harness/log/SqliteFault";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { AgentId, MessageId } from "@social-harness/protocol/identity/Identifier";
import type { WebSocket } from "ws";
import type { Tracer } from "../Tracer.ts";
import * as Envelope from "../wire/Envelope.ts";
import * as Frames from "../wire/Frames.ts";
import type { Budget } from "./Budget.ts";
import type { Caller } from "./Greeting.ts";
import type { Mailbox } from "./Mailbox.ts";
import type { Metrics } from "./Metrics.ts";
import type { Copy, RouterStore, SendResult } from "./RouterStore.ts";

/** What the sends of all callers share. */
export interface SendsContext {
  readonly store: RouterStore;
  readonly budget: Budget;
  readonly metrics: Metrics;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly tracer?: Tracer;
  readonly limits: { readonly pendingSendsMax: number };
  /** The one live connection of each agent. */
  readonly live: ReadonlyMap<AgentId, { readonly mailbox: Mailbox }>;
  /** Keeps the work that a closing Router waits for. */
  readonly track: (work: Promise<void>) => void;
  /** A send is on disk, or the log failed by that or by a use beside it. */
  readonly onLog: (fault: LogError | null, use?: LogUse) => void;
}

export interface Sends {
  readonly take: (send: Frames.Send) => void;
  readonly reject: (requestId: number, reason: Frames.RejectedReason) => void;
}

export const takeSends = (
  socket: WebSocket,
  context: SendsContext,
  { card, cardDigest }: Caller,
  write: (frame: string) => void,
  onFault: (error: unknown) => void,
): Sends => {
  const { store, budget, metrics, limits, live } = context;
  const { agentId, signingKey } = card;
  let pending = 0;
  /** A send that was refused for now. What comes behind it is refused too until it comes again, so order survives. */
  let refused: { readonly messageId: MessageId; readonly reason: "rate-limited" | "unavailable" } | null =
    null;

  const reject = (requestId: number, reason: Frames.RejectedReason): void => {
    metrics.rejected(reason);
    write(Frames.encode({ kind: "rejected", requestId, reason }));
  };

  /** Why a send is not even tried, cheapest first; null when it may go to the store. */
  const objection = ({ envelope, envelopeText }: Frames.Send): Frames.RejectedReason | null => {
    const { messageId, senderAgentId, senderCardDigest, signature } = envelope;
    if (senderAgentId !== agentId || senderCardDigest !== cardDigest) return "not-sender";
    if (refused !== null && refused.messageId !== messageId) return refused.reason;
    refused = null;
    if (!budget.take(agentId, envelopeText.length)) {
      refused = { messageId, reason: "rate-limited" };
      return "rate-limited";
    }
    return Envelope.verifyText(Ed25519.verifier, signingKey, envelopeText, signature)
      ? null
      : "bad-signature";
  };

  const handOut = (copies: ReadonlyArray<Copy>, body: Buffer, bytes: number): void => {
    for (const copy of copies) {
      live.get(copy.agentId)?.mailbox.offer(copy.cursor, copy.stored ? body : null, bytes);
    }
  };

  /** The others come first: they act on what they get, while the sender only learns what became of it. */
  const announce = (
    { requestId, envelopeText }: Frames.Send,
    { lane, sequence, copies, body }: Extract<SendResult, { kind: "accepted" }>,
  ): void => {
    const isOwn = (copy: Copy): boolean => copy.agentId === agentId;
    handOut(
      copies.filter((copy) => !isOwn(copy)),
      body,
      envelopeText.length,
    );
    write(Frames.encode({ kind: "accepted", requestId, lane, sequence }));
    handOut(copies.filter(isOwn), body, envelopeText.length);
  };

  /** Takes the time from now on; null where nobody wants to know. */
  const traceOf = ({ envelope, envelopeText }: Frames.Send) => {
    const { clock, tracer } = context;
    if (tracer === undefined) return null;
    const startedAt = clock();
    const attributes = { recipients: envelope.recipientAgentIds.length, bytes: envelopeText.length };
    return (failed: Frames.RejectedReason | null): void =>
      tracer({ name: "router send", startedAt, endedAt: clock(), failed, attributes });
  };

  const decide = async (send: Frames.Send): Promise<void> => {
    const { requestId, envelope, envelopeText } = send;
    const envelopeDigest = Envelope.digestOfText(envelopeText);
    const over = traceOf(send);
    try {
      const result = await store.accept({ envelope, envelopeText, envelopeDigest });
      context.onLog(null);
      over?.(result.kind === "rejected" ? result.reason : null);
      if (result.kind === "rejected") return reject(requestId, result.reason);
      metrics.accepted();
      announce(send, result);
    } catch (error) {
      const fault = faultOf(error);
      if (fault === null) throw error;
      context.onLog(fault);
      over?.("unavailable");
      refused ??= { messageId: envelope.messageId, reason: "unavailable" };
      reject(requestId, "unavailable");
    }
  };

  return {
    reject,
    take: (send) => {
      const reason = objection(send);
      if (reason !== null) return reject(send.requestId, reason);
      pending += 1;
      if (pending >= limits.pendingSendsMax) socket.pause();
      const decided = decide(send)
        .catch(onFault)
        .finally(() => {
          pending -= 1;
          if (pending === limits.pendingSendsMax - 1) socket.resume();
        });
      context.track(decided);
    },
  };
};
