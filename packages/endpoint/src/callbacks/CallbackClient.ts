// One safe HTTPS POST to an address that a stranger named. Webhooks and the firewall's checker know this interface and
// nothing of the way; what is on the way is loaded with the first callback, so a daemon that makes none does not carry it.
// Implements ING-70 and ING-73 to ING-76.

import * as AddressPolicy from "./AddressPolicy.ts";
import { CallbackFailure, type FailureCategory } from "./CallbackFailure.ts";
import type { CallbackUrl } from "./CallbackUrl.ts";
import { systemConnect, type Connect } from "./Dial.ts";
import * as Limits from "./Limits.ts";
import { systemResolver, type Resolver } from "./Resolver.ts";
import * as RetryAfter from "./RetryAfter.ts";
import type { TestCallbacks } from "./TestCallbacks.ts";

export type { FailureCategory } from "./CallbackFailure.ts";

export interface CallbackRequest {
  readonly url: CallbackUrl;
  /** The caller's own words, never a stranger's. `host` and the lengths are not among them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export type CallbackAnswer =
  | {
      readonly kind: "answered";
      /** 200 to 599; a redirect is an answer like any other. */
      readonly status: number;
      readonly retryAfterMs: number | null;
      /** At most `Limits.answerBytesMax`; the rest of a longer one stays unread. */
      readonly body: Uint8Array;
    }
  | { readonly kind: "failed"; readonly category: FailureCategory };

export interface CallbackClient {
  /** Rejects only with the signal's reason, or after `close`. The connection is gone when it settles. */
  readonly post: (request: CallbackRequest, signal: AbortSignal) => Promise<CallbackAnswer>;
  /** Ends what is under way. */
  readonly close: () => Promise<void>;
}

export interface CallbackClientOptions {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** What a daemon may do that was started for tests. */
  readonly test: TestCallbacks | null;
  readonly deadlineMs?: number;
  readonly resolver?: Resolver;
  readonly connect?: Connect;
}

export const makeCallbackClient = (options: CallbackClientOptions): CallbackClient => {
  const { clock, test } = options;
  const wire = {
    resolver: options.resolver ?? systemResolver,
    connect: options.connect ?? systemConnect,
    allows: test === null ? AddressPolicy.isGloballyRoutable : AddressPolicy.withExtra(test.addresses),
    certificateAuthority: test?.certificateAuthority ?? null,
  };
  const deadlineMs = options.deadlineMs ?? Limits.deadlineMs;
  const underWay = new Map<AbortController, Promise<unknown>>();
  let closed = false;

  const attempt = async (request: CallbackRequest, signal: AbortSignal): Promise<CallbackAnswer> => {
    try {
      const effect = await import("./EffectPost.ts");
      const { status, retryAfter, body } = await effect.post(request, wire, signal);
      return { kind: "answered", status, retryAfterMs: RetryAfter.parse(retryAfter, clock()), body };
    } catch (error) {
      if (error instanceof CallbackFailure) return { kind: "failed", category: error.category };
      throw error;
    }
  };

  return {
    post: async (request, signal) => {
      signal.throwIfAborted();
      if (closed) throw new Error("the callback client is closed");
      // One end for all reasons to end: the deadline, the caller, the client.
      const controller = new AbortController();
      const pass = (): void => controller.abort(signal.reason);
      signal.addEventListener("abort", pass, { once: true });
      const deadline = setTimeout(() => controller.abort(new CallbackFailure("timeout")), deadlineMs);
      const running = attempt(request, controller.signal);
      underWay.set(controller, running);
      try {
        return await running;
      } finally {
        clearTimeout(deadline);
        signal.removeEventListener("abort", pass);
        underWay.delete(controller);
      }
    },
    close: async () => {
      closed = true;
      const running = [...underWay.values()];
      for (const controller of underWay.keys()) controller.abort(new Error("the callback client is closed"));
      await Promise.allSettled(running);
    },
  };
};
