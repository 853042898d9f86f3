// One POST through Effect's HTTP client, over an undici dispatcher of its own that ends with it: nothing is kept open, so
// nothing that was checked once is believed later. The only file that knows Effect's client and undici; loaded when the
// first callback is made and not before. Implements ING-67 to ING-69, ING-71, ING-72, ING-74, ING-264 and ING-265.

import type { Socket } from "node:net";
import * as tls from "node:tls";
import { callbackify } from "node:util";
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient";
import { buildConnector, errors } from "@effect/platform-node/Undici";
import * as Cause from "effect/Cause";
import * as Effect from "effect/Effect";
import * as Exit from "effect/Exit";
import * as HttpClient from "effect/http/HttpClient";
import type { HttpClientError } from "effect/http/HttpClientError";
import * as HttpClientRequest from "effect/http/HttpClientRequest";
import type { HttpClientResponse } from "effect/http/HttpClientResponse";
import * as Result from "effect/Result";
import type * as Scope from "effect/Scope";
import * as Stream from "effect/Stream";
import type { AddressPolicy } from "./AddressPolicy.ts";
import { CallbackFailure } from "./CallbackFailure.ts";
import * as CallbackUrl from "./CallbackUrl.ts";
import * as Destination from "./Destination.ts";
import { dial, type Connect } from "./Dial.ts";
import * as InterimAnswers from "./InterimAnswers.ts";
import * as Limits from "./Limits.ts";
import type { Resolver } from "./Resolver.ts";

export interface Wire {
  readonly resolver: Resolver;
  readonly connect: Connect;
  readonly allows: AddressPolicy;
  /** An authority that counts beside this machine's own, PEM; null for none. */
  readonly certificateAuthority: string | null;
}

export interface Request {
  readonly url: CallbackUrl.CallbackUrl;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** All of the body, or its first bytes. */
  readonly body: Uint8Array;
}

/** Certificates are checked whatever the environment says, and no TLS session outlives its connection. */
const tlsConnector = (certificateAuthority: string | null): buildConnector.connector =>
  buildConnector({
    allowH2: false,
    maxCachedSessions: 0,
    timeout: 0,
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    ...(certificateAuthority === null
      ? {}
      : { ca: [...tls.getCACertificates("default"), certificateAuthority] }),
  });

/** The socket without the answers before the answer: its bytes pass the filter on their way in, whoever reads them then. */
const withoutInterim = (socket: Socket): Socket => {
  const filter = InterimAnswers.createFilter();
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null): boolean => {
    const bytes = filter(chunk);
    // No bytes are pushed too: it is how the stream hears that it may ask for more.
    if (chunk !== null) return push(bytes);
    if (bytes.length > 0) push(bytes);
    return push(null);
  };
  return socket;
};

/**
 * What undici asks for a connection: resolved, checked, dialled and encrypted for the name in the URL. Never asks a
 * second time for one request: undici gives up with the first failure.
 */
const connectorTo = (url: CallbackUrl.CallbackUrl, wire: Wire, signal: AbortSignal) => {
  const encrypt = tlsConnector(wire.certificateAuthority);
  const open = async (options: buildConnector.Options): Promise<Socket> => {
    const target = CallbackUrl.targetOf(url);
    const destination = await Destination.resolve(target, wire.resolver, wire.allows, signal);
    const httpSocket = await dial(destination, wire.connect, wire.allows, signal);
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const { hostname, isLiteral } = destination;
    // Without a name of its own the literal is what the certificate is checked for.
    const identity = { ...options, hostname, servername: isLiteral ? "" : hostname, httpSocket };
    encrypt(identity, (cause, socket) => {
      if (cause === null && socket !== null) return resolve(withoutInterim(socket));
      reject(new CallbackFailure("tls-failed", { cause }));
    });
    return promise;
  };
  const opening = callbackify(open);
  return (options: buildConnector.Options, callback: buildConnector.Callback): void =>
    opening(options, (error, socket) => (error === null ? callback(null, socket) : callback(error, null)));
};

/** The first bytes of the body. Where there are more, the connection is dropped with them unread. */
const firstBytes = (response: HttpClientResponse): Effect.Effect<Uint8Array, HttpClientError> => {
  const body = Buffer.alloc(Limits.answerBytesMax);
  let size = 0;
  return response.stream.pipe(
    Stream.runForEachWhile((chunk) =>
      Effect.sync(() => {
        size += Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).copy(body, size);
        return size < body.length;
      }),
    ),
    Effect.map(() => Uint8Array.from(body.subarray(0, size))),
  );
};

const exchange = (
  request: Request,
  wire: Wire,
): Effect.Effect<Answer, HttpClientError | CallbackFailure, Scope.Scope> =>
  Effect.gen(function* () {
    // Released after the dispatcher, which waits for no connection that is only being made.
    const making = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort()),
    );
    const dispatcher = yield* NodeHttpClient.makeDispatcherOptions({
      connect: connectorTo(request.url, wire, making.signal),
      allowH2: false,
      pipelining: 0,
    });
    const client = yield* NodeHttpClient.makeUndici.pipe(
      Effect.provideService(NodeHttpClient.Dispatcher, dispatcher),
    );
    const response = yield* client.execute(
      HttpClientRequest.post(request.url).pipe(
        HttpClientRequest.bodyUint8Array(request.body),
        HttpClientRequest.setHeaders(request.headers),
      ),
    );
    // HTTP knows no others; undici hands on whatever three digits it finds.
    if (response.status >= 600) return yield* Effect.fail(new CallbackFailure("answer-malformed"));
    const body = yield* firstBytes(response);
    return { status: response.status, retryAfter: response.headers["retry-after"], body };
  });

const { HTTPParserError, HeadersOverflowError, ResponseContentLengthMismatchError } = errors;
const malformed = [HTTPParserError, HeadersOverflowError, ResponseContentLengthMismatchError];

/** Our own connector's reason, or what undici found. A request that could not even be written is a defect of the caller. */
const failureOf = (cause: unknown): CallbackFailure => {
  if (cause instanceof CallbackFailure) return cause;
  if (cause instanceof errors.InvalidArgumentError) throw cause;
  const isMalformed = malformed.some((kind) => cause instanceof kind);
  return new CallbackFailure(isMalformed ? "answer-malformed" : "connection-lost", { cause });
};

/** Rejects with `CallbackFailure`, or with the signal's reason once it has aborted. All that it opened is closed by then. */
export const post = async (request: Request, wire: Wire, signal: AbortSignal): Promise<Answer> => {
  const exit = await exchange(request, wire).pipe(
    Effect.scoped,
    // A stranger learns nothing of how this process traces itself.
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    (program) => Effect.runPromiseExit(program, { signal }),
  );
  if (Exit.isSuccess(exit)) return exit.value;
  signal.throwIfAborted();
  const error = Cause.findError(exit.cause);
  if (Result.isFailure(error)) throw Cause.squash(exit.cause);
  throw failureOf(error.success instanceof CallbackFailure ? error.success : error.success.cause);
};
