// Carries one exchange between node:http and the SDK's web-standard handler: the request's head in, the response's
// frames out at the reader's pace. A reader that stops reading is noticed, waited for, and at last cut off, so what is
// kept for it stays bounded. The SDK's own adapter does less and costs 9 MB of memory at start.

import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import type { Caller } from "./Caller.ts";
import * as Limits from "./Limits.ts";

/** The reader's end of an exchange. */
export interface Outlet {
  /**
   * Resolves when the reader can take another frame. Whoever awaits it before every frame keeps at most one unsent.
   * A reader that takes nothing for a minute is disconnected.
   */
  readonly ready: () => Promise<void>;
  /** Resolves when the answer has been handed over, or the reader has left. */
  readonly over: Promise<void>;
}

/** The request's own body is never read: it comes parsed beside it, with the caller that the gate found. */
export type Handler = (request: Request, body: unknown, caller: Caller) => Promise<Response>;

export interface Exchanges {
  readonly serve: (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    body: unknown,
    caller: Caller,
  ) => Promise<void>;
  /** The outlet of the exchange that a web request belongs to. */
  readonly outletOf: (request: Request) => Outlet | undefined;
}

const closed = (outgoing: ServerResponse): boolean => outgoing.destroyed || outgoing.writableEnded;

const drained = (outgoing: ServerResponse, patienceMs: number): Promise<void> => {
  if (closed(outgoing) || !outgoing.writableNeedDrain) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => {
    clearTimeout(patience);
    outgoing.off("drain", done).off("close", done);
    resolve();
  };
  const patience = setTimeout(() => outgoing.destroy(), patienceMs);
  patience.unref();
  outgoing.on("drain", done).on("close", done);
  return promise;
};

const outletOf = (outgoing: ServerResponse, over: Promise<void>, patienceMs: number): Outlet => ({
  ready: async () => {
    // A frame that was just sent reaches the socket a moment later; only then is it known whether it was taken.
    await setImmediate();
    await drained(outgoing, patienceMs);
  },
  over,
});

const headersOf = (incoming: IncomingMessage): Headers => {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) headers.append(name, one);
  }
  return headers;
};

/** A slow reader shows life with every part, so a page of several megabytes is no test of its speed. */
const partBytes = 65_536;

function* partsOf(chunk: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < chunk.byteLength; at += partBytes) yield chunk.subarray(at, at + partBytes);
}

type Chunks = AsyncIterator<Uint8Array, undefined>;

/** What can be read of an answer without waiting for a stream's next frame: all of it, where it is one short chunk. */
const beginningOf = async (
  isStream: boolean,
  body: Chunks,
): Promise<{ readonly chunks: ReadonlyArray<Uint8Array>; readonly isWhole: boolean }> => {
  if (isStream) return { chunks: [], isWhole: false };
  const first = await body.next();
  if (first.done === true) return { chunks: [], isWhole: true };
  if (first.value.byteLength > partBytes) return { chunks: [first.value], isWhole: false };
  const second = await body.next();
  return second.done === true
    ? { chunks: [first.value], isWhole: true }
    : { chunks: [first.value, second.value], isWhole: false };
};

/** What was read already, then the rest. Leaving it cancels the rest. */
async function* resumed(chunks: ReadonlyArray<Uint8Array>, body: Chunks): AsyncIterable<Uint8Array> {
  try {
    yield* chunks;
    for (let next = await body.next(); next.done !== true; next = await body.next()) yield next.value;
  } finally {
    await body.return?.();
  }
}

/** A short answer leaves in one write, its length in the head, and is there in one read; the others go in parts. */
const send = async (response: Response, outgoing: ServerResponse, patienceMs: number): Promise<void> => {
  if (closed(outgoing)) return void (await response.body?.cancel());
  const headers = Object.fromEntries(response.headers);
  if (response.body === null) return void outgoing.writeHead(response.status, headers).end();
  const body = response.body[Symbol.asyncIterator]() as Chunks;
  const { chunks, isWhole } = await beginningOf(headers["content-type"] === "text/event-stream", body);
  if (isWhole) {
    const bytes = chunks[0] ?? new Uint8Array();
    return void outgoing
      .writeHead(response.status, { ...headers, "content-length": bytes.byteLength })
      .end(bytes);
  }
  outgoing.writeHead(response.status, headers);
  for await (const chunk of resumed(chunks, body)) {
    for (const part of partsOf(chunk)) {
      if (closed(outgoing)) return;
      if (!outgoing.write(part)) await drained(outgoing, patienceMs);
    }
  }
  outgoing.end();
};

/** `patienceMs`: a shorter minute, for tests. */
export const make = (
  handler: Handler,
  origin: () => string,
  patienceMs: number = Limits.readerPatienceMs,
): Exchanges => {
  const outlets = new WeakMap<Request, Outlet>();
  return {
    outletOf: (request) => outlets.get(request),
    serve: async (incoming, outgoing, body, caller) => {
      const abort = new AbortController();
      const over = Promise.withResolvers<void>();
      // Every response closes; the reader has left only when it closes before its end.
      outgoing.once("close", () => {
        if (!outgoing.writableFinished) abort.abort();
        over.resolve();
      });
      const request = new Request(`${origin()}${incoming.url}`, {
        method: "POST",
        headers: headersOf(incoming),
        signal: abort.signal,
      });
      outlets.set(request, outletOf(outgoing, over.promise, patienceMs));
      await send(await handler(request, body, caller), outgoing, patienceMs);
    },
  };
};
