// The owner's own judge behind the rules: asks it about one item, some times where it fails, and takes nothing but a verdict of
// the one form for an answer. What cannot be had is a hold. Implements ING-150, ING-153, ING-154 and ING-240.

import { setTimeout } from "node:timers/promises";
import * as Schema from "effect/Schema";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as StrictJson from "@social-harness/protocol/encoding/StrictJson";
import type { CallbackClient } from "../callbacks/CallbackClient.ts";
import type { Ask } from "./Ask.ts";
import * as CheckerUrl from "./CheckerUrl.ts";
import * as CommandChecker from "./CommandChecker.ts";
import { CheckFailure, explain } from "./CheckFailure.ts";
import * as HttpChecker from "./HttpChecker.ts";
import * as Limits from "./Limits.ts";
import * as Places from "./Places.ts";
import type { CheckerSettings } from "./RulesFile.ts";
import type { Subject, Verdict } from "./Verdict.ts";

export interface CheckerOptions {
  /** For a checker under https; without one such a checker cannot be reached. */
  readonly callbacks: CallbackClient | null;
  /** Where a command runs: the state folder. */
  readonly folder: string;
  /** A shorter deadline and other pauses, for tests. */
  readonly checkMsMax?: number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Rejects when `signal` ends it, or where the item cannot be read. It is read for each question, and not kept while others are asked. */
export type Checker = (read: () => Subject, signal: AbortSignal) => Promise<Verdict>;

const upTo = (bytesMax: number) =>
  Schema.String.check(Schema.makeFilter((text: string) => Buffer.byteLength(text) <= bytesMax));

const decode = Closed.decoder(
  Schema.Union([
    Schema.Struct({
      verdict: Schema.Literal("allow"),
      guidance: Schema.optionalKey(upTo(Limits.guidanceBytesMax)),
    }),
    Schema.Struct({ verdict: Schema.Literal("hold"), reason: upTo(Limits.explanationBytesMax) }),
  ]),
);

/** Throws `CheckFailure` for anything but one verdict. */
const verdictOf = (answer: Uint8Array): Verdict => {
  try {
    const decoded = decode(StrictJson.parseBytes(answer));
    if (decoded.verdict === "hold") {
      return { verdict: "hold", reason: "checker", explanation: decoded.reason.toWellFormed() };
    }
    const { guidance = "" } = decoded;
    return { verdict: "allow", ...(guidance === "" ? {} : { guidance: guidance.toWellFormed() }) };
  } catch (error) {
    throw error instanceof DecodeError ? new CheckFailure("malformed") : error;
  }
};

/** What a checker is told. The item is another agent's word, and comes in a field of its own. */
const questionOf = ({ item, sender, isKnown, receivedAt }: Subject): Uint8Array =>
  Buffer.from(
    `${JSON.stringify({
      item,
      sender: { agentId: sender.agentId, agentName: sender.agentName, principalId: sender.principalId },
      knownSender: isKnown,
      receivedAt: new Date(receivedAt).toISOString(),
    })}\n`,
  );

const askerOf = ({ command, url, token }: CheckerSettings, options: CheckerOptions): Ask => {
  if (command !== undefined) return CommandChecker.create(command, options.folder);
  const parsed = url === undefined ? null : CheckerUrl.parse(url);
  if (parsed === null) throw new Error("a checker without a command or a good url");
  return HttpChecker.create(parsed, token, options.callbacks);
};

const ended = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

/** Rejects with `CheckFailure` at the deadline, also where a way of asking does not mind its signal. */
const withinDeadline = async (ask: Ask, question: Uint8Array, signal: AbortSignal, msMax: number) => {
  signal.throwIfAborted();
  const deadline = AbortSignal.timeout(msMax);
  const either = AbortSignal.any([signal, deadline]);
  try {
    return verdictOf(await Promise.race([ask(question, either), ended(either)]));
  } catch (error) {
    signal.throwIfAborted();
    throw deadline.aborted ? new CheckFailure("timeout") : error;
  }
};

export const create = (settings: CheckerSettings, options: CheckerOptions): Checker => {
  const ask = askerOf(settings, options);
  const places = Places.create(Limits.checks);
  const sleep = options.sleep ?? ((ms, signal) => setTimeout(ms, undefined, { signal, ref: false }));
  const msMax = options.checkMsMax ?? Limits.checkMsMax;

  /** One question; its place is given back before the pause that a failure makes. */
  const answerOf = async (read: () => Subject, signal: AbortSignal): Promise<Verdict | CheckFailure> => {
    const giveBack = await places.take(read().sender.principalId, signal);
    try {
      return await withinDeadline(ask, questionOf(read()), signal, msMax);
    } catch (error) {
      if (error instanceof CheckFailure) return error;
      throw error;
    } finally {
      giveBack();
    }
  };

  return async (read, signal) => {
    for (let again = 0; ; again++) {
      const answer = await answerOf(read, signal);
      if (!(answer instanceof CheckFailure)) return answer;
      const pauseMs = Limits.checkAgainAfterMs[again];
      if (pauseMs === undefined) {
        return { verdict: "hold", reason: "check-failed", explanation: explain(answer.category) };
      }
      await sleep(pauseMs, signal);
    }
  };
};
