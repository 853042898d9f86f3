// Judges what is queued: the items of a conversation strictly one after the other, conversations at the same time, outside of every
// turn; only the verdict is written in one. Asks for nothing before it is committed, and knows no rule. Implements ING-141 to
// ING-145, ING-149 and ING-248.

import { setTimeout } from "node:timers/promises";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import type { ConversationId } from "@social-harness/protocol/identity/Identifier";
import type { Logger } from "@social-harness/router/Logger";
import type { Random } from "../ingress/Inbox.ts";
import { causeOf } from "../state/Log.ts";
import { type Database, isStoreFailure } from "../store/Database.ts";
import * as Events from "./Events.ts";
import * as Limits from "./Limits.ts";
import * as Places from "./Places.ts";
import * as Queue from "./Queue.ts";
import type { Verdict } from "./Verdict.ts";

/** Where verdicts are written: the endpoint's turns. */
export interface Writer {
  readonly run: <A>(work: (turn: { readonly db: Database; readonly now: number }) => A) => Promise<A>;
}

/** Rejects when `signal` ends it; any other rejection is a defect, or what cannot be read. */
export interface Judge {
  /**
   * Verdicts about the next items of one conversation, in their order: on as many of them as can be decided without asking
   * anybody, and on none where the very first cannot.
   */
  readonly decide: (
    entries: ReadonlyArray<Queue.Queued>,
    signal: AbortSignal,
  ) => Promise<ReadonlyArray<Verdict>>;
  /** The verdict about the first of them, after whatever wait. */
  readonly check: (conversationId: ConversationId, signal: AbortSignal) => Promise<Verdict>;
}

export interface WorkersOptions {
  readonly db: Database;
  readonly writer: Writer;
  readonly judge: Judge;
  readonly random: Random;
  readonly logger: Logger;
  /** Verdicts raised the number of unacknowledged items. */
  readonly onAdmitted: () => void;
  /** Nothing is being judged, and nothing readable is queued. */
  readonly onIdle: () => void;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

export interface Workers {
  /** Notes that something of a conversation was queued in a turn; looked at once that is committed. */
  readonly note: (conversationId: ConversationId) => void;
  readonly committed: () => void;
  /** Ends every check that is under way; what it was about stays queued. Resolves when nothing is written any more. */
  readonly stop: () => Promise<void>;
}

export const start = (options: WorkersOptions): Workers => {
  const { db, writer, judge, random, logger } = options;
  const sleep = options.sleep ?? ((ms, signal) => setTimeout(ms, undefined, { signal, ref: false }));
  const stopping = new AbortController();
  const { signal } = stopping;
  const places = Places.create(Limits.decisions);
  /** Conversations in which something may wait, the one first that was looked at longest ago. */
  const waiting = new Set<ConversationId>(Queue.conversations(db));
  const busy = new Map<ConversationId, Promise<void>>();
  let soon: NodeJS.Immediate | null = null;

  /** Whoever has just had a turn comes after all others, also if more of it was queued meanwhile. */
  const moveToEnd = (conversationId: ConversationId): void => {
    waiting.delete(conversationId);
    waiting.add(conversationId);
  };

  const say = (verdict: Verdict, one: Queue.Settled): void => {
    if (one.kind !== "held" || verdict.verdict !== "hold") return;
    const level = verdict.reason === "check-failed" ? "warn" : "info";
    const { reason, rule, explanation } = verdict;
    logger(level, Events.held, {
      hold: one.holdId,
      reason,
      ...(rule === undefined ? {} : { rule }),
      // How a check failed is said in words of this program's own; a rule's and a checker's are theirs.
      ...(reason === "check-failed" && explanation !== undefined ? { explanation } : {}),
    });
  };

  const settle = async (
    entries: ReadonlyArray<Queue.Queued>,
    verdicts: ReadonlyArray<Verdict>,
  ): Promise<void> => {
    signal.throwIfAborted();
    const settled = await writer.run(({ db: written, now }) =>
      verdicts.map((verdict, index) =>
        Queue.settle(written, entries[index] as Queue.Queued, verdict, { now, random }),
      ),
    );
    for (const [index, one] of settled.entries()) say(verdicts[index] as Verdict, one);
    if (settled.some(({ kind }) => kind === "admitted")) options.onAdmitted();
  };

  /** Settles what can be decided without asking anybody; says whether there is something that cannot. */
  const decide = async (conversationId: ConversationId): Promise<"settled" | "nothing" | "undecided"> => {
    const giveBack = await places.take(Queue.firstAuthor(db, conversationId) ?? "", signal);
    try {
      const entries = Queue.next(db, conversationId, Limits.runItemsMax);
      if (entries.length === 0) return "nothing";
      const verdicts = await judge.decide(entries, signal);
      if (verdicts.length === 0) return "undecided";
      await settle(entries, verdicts);
      return "settled";
    } finally {
      giveBack();
    }
  };

  /** Nothing of the conversation is kept in memory while it waits for its check. */
  const check = async (conversationId: ConversationId): Promise<void> => {
    const verdict = await judge.check(conversationId, signal);
    await settle(Queue.next(db, conversationId, 1), [verdict]);
  };

  const judgeNext = async (conversationId: ConversationId): Promise<void> => {
    const decided = await decide(conversationId);
    if (decided === "nothing") return;
    if (decided === "undecided") await check(conversationId);
    moveToEnd(conversationId);
  };

  const tryLater = async (conversationId: ConversationId): Promise<void> => {
    await sleep(Limits.storeRetryMs, signal).catch(() => undefined);
    moveToEnd(conversationId);
    look();
  };

  const work = async (conversationId: ConversationId): Promise<void> => {
    try {
      await judgeNext(conversationId);
    } catch (error) {
      if (signal.aborted) return;
      if (!isStoreFailure(error))
        logger("error", "a queued message could not be judged and stays queued", {
          conversation: conversationId,
          ...causeOf(error),
        });
      // What cannot be read stays so; all else may pass.
      if (!(error instanceof DecodeError)) void tryLater(conversationId);
    }
  };

  const begin = (conversationId: ConversationId): void => {
    waiting.delete(conversationId);
    const done = work(conversationId).then(() => {
      busy.delete(conversationId);
      look();
    });
    busy.set(conversationId, done);
  };

  const look = (): void => {
    if (signal.aborted) return;
    for (const conversationId of waiting) {
      if (!busy.has(conversationId)) begin(conversationId);
    }
    if (busy.size === 0) options.onIdle();
  };

  look();
  return {
    note: (conversationId) => void waiting.add(conversationId),
    committed: () => {
      if (waiting.size === 0 || soon !== null) return;
      // Not within what a turn does after its commit: whoever waits for that comes first.
      soon = setImmediate(() => {
        soon = null;
        look();
      });
    },
    stop: async () => {
      stopping.abort();
      if (soon !== null) clearImmediate(soon);
      await Promise.all(busy.values());
    },
  };
};
