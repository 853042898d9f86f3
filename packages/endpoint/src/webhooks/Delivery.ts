// The loop that brings due deliveries to the callback, one at a time. It keeps nothing that the store does not have but an
// answer that the store has not taken yet: each step reads the rows, and an outcome, the receipt's whole effect and the next
// offer are one transaction. Implements ING-92 to ING-95, ING-103, ING-108 and ING-262.

import type { Logger } from "@social-harness/router/Logger";
import * as Inbox from "../ingress/Inbox.ts";
import { causeOf } from "../state/Log.ts";
import type { Database } from "../store/Database.ts";
import * as Attempts from "./Attempts.ts";
import * as LifeCycle from "./LifeCycle.ts";
import * as Limits from "./Limits.ts";
import type { Notices } from "./Notices.ts";
import * as Occurrence from "./Occurrence.ts";
import * as Outcome from "./Outcome.ts";
import * as Posting from "./Posting.ts";
import * as Registration from "./Registration.ts";

export interface DeliveryOptions extends Posting.PostingOptions {
  readonly db: Database;
  readonly random: (byteCount: number) => Uint8Array;
  /** Calls `fire` once after `delayMs`; returns the function that stops it. */
  readonly schedule: (delayMs: number, fire: () => void) => () => void;
  readonly logger: Logger;
  /** Told of each call to the receiver that came to an end, once it is noted. */
  readonly onAttempt?: (attempt: Attempts.AttemptRow) => void;
  readonly notices: Notices;
}

export interface Delivery {
  /** Something has changed, or may have. Does at once what is due; cheap when nothing is. */
  readonly wake: () => void;
  /** Forgets the attempt that is under way: whatever it comes to means nothing any more. */
  readonly abandon: () => void;
  /** Lets the attempt that is under way end by itself for a moment, and makes no other. */
  readonly stop: () => Promise<void>;
}

interface Flight {
  readonly abort: AbortController;
  ended: Promise<void>;
}

/** What the receiver has said, from then until the store has it. */
interface Answered {
  readonly due: Occurrence.Occurrence;
  readonly posted: Posting.Posted;
  /** Epoch milliseconds. */
  readonly now: number;
  /** 0 to 1. */
  readonly jitter: number;
}

/** What became of the due delivery, with everything that follows from it. Returns what it led to. */
const record = (
  db: Database,
  { due: { deliveryToken }, posted: { answer, attempt }, now, jitter }: Answered,
): LifeCycle.Standing | null => {
  Attempts.add(db, attempt);
  const registration = Registration.load(db);
  // The item may have left the inbox by another way meanwhile: then this outcome is nobody's.
  if (registration === null || Occurrence.current(db)?.deliveryToken !== deliveryToken) return null;
  const outcome = Outcome.of(answer);
  const event: LifeCycle.Event =
    outcome.kind === "failed" ? { ...outcome, now, jitter } : { ...outcome, now };
  const standing = LifeCycle.transition(registration.standing, event);
  const lastDeliveryAt = outcome.kind === "received" ? now : registration.lastDeliveryAt;
  Registration.save(db, { ...registration, standing, lastDeliveryAt });
  if (outcome.kind === "received") {
    Inbox.acknowledge(db, deliveryToken, now);
    Occurrence.clear(db);
    if (LifeCycle.delivers(standing.state)) Occurrence.offer(db);
  }
  return standing;
};

export const create = (options: DeliveryOptions): Delivery => {
  const { db, clock, random, schedule, logger, notices } = options;
  let flight: Flight | null = null;
  let answered: Answered | null = null;
  let stopped = false;
  let stopTimer = (): void => {};

  const wakeIn = (delayMs: number): void => {
    stopTimer();
    // A timer takes no more than 24 days, and a clock that was set back makes the end of a lease look that far away.
    stopTimer = schedule(Math.min(Math.max(delayMs, 0), Limits.leaseMsMax), wake);
  };

  /** A store that fails now may not fail later; nothing has been lost but time. */
  const retryLater = (error: unknown): void => {
    logger("error", "a webhook delivery cannot go on; it is tried again", causeOf(error));
    if (!stopped) wakeIn(Limits.storeRetryMs);
  };

  /**
   * While the store takes no answer, the receiver is not asked again: it has answered, and only the record is missing. Goes before
   * every offer, so that an answer to what has ended since meets no delivery that is due.
   */
  const conclude = (): void => {
    if (answered === null) return;
    const outcome = answered;
    const standing = db.transaction(() => record(db, outcome));
    answered = null;
    options.onAttempt?.(outcome.posted.attempt);
    if (standing !== null) notices.stands(standing, "its receiver took the delivery that was due");
  };

  const attempt = async (
    registration: Registration.Registration,
    due: Occurrence.Occurrence,
    mine: Flight,
  ): Promise<void> => {
    try {
      const message = { id: due.eventId, body: due.body };
      const posted = await Posting.post(options, "delivery", registration, message, mine.abort.signal);
      // Abandoned, or cut off by a stop: what it came to is unknown here, and no fault of the receiver's.
      if (flight !== mine || mine.abort.signal.aborted) return;
      flight = null;
      answered = { due, posted, now: clock(), jitter: (random(1)[0] as number) / 255 };
      conclude();
      wake();
    } catch (error) {
      if (flight === mine) flight = null;
      retryLater(error);
    }
  };

  const step = (): void => {
    const registration = Registration.load(db);
    if (registration === null) return;
    const now = clock();
    const { standing, leaseEndsAt } = registration;
    if (standing.state === "rejected" || standing.state === "expired") return;
    if (now >= leaseEndsAt) {
      const ended = db.transaction(() => Registration.apply(db, registration, { kind: "leaseEnded" }));
      if (ended !== null) notices.stands(ended.standing, "its lease ended");
      return;
    }
    const leaseLeft = leaseEndsAt - now;
    if (!LifeCycle.delivers(standing.state) || leaseLeft < Limits.leaseRestMsMin) return wakeIn(leaseLeft);
    const wait = standing.dueAt - now;
    // No wait is longer: what seems to be comes from a clock that was set back since.
    if (wait > 0 && wait <= Limits.retryMsMax) return wakeIn(Math.min(wait, leaseLeft));
    const due = Occurrence.current(db) ?? db.transaction(() => Occurrence.offer(db));
    if (due === null) return wakeIn(leaseLeft);
    const mine: Flight = { abort: new AbortController(), ended: Promise.resolve() };
    flight = mine;
    mine.ended = attempt(registration, due, mine);
  };

  const wake = (): void => {
    if (stopped || flight !== null) return;
    stopTimer();
    try {
      conclude();
      step();
    } catch (error) {
      retryLater(error);
    }
  };

  return {
    wake,
    abandon: () => {
      flight?.abort.abort();
      flight = null;
    },
    stop: async () => {
      stopped = true;
      stopTimer();
      if (flight !== null) {
        const { abort, ended } = flight;
        const stopGrace = schedule(Limits.graceMs, () => abort.abort());
        await ended;
        stopGrace();
      }
      try {
        conclude();
      } catch (error) {
        retryLater(error);
      }
    },
  };
};
