// Spans on their way to an OTLP collector, through Effect's exporter, which batches, retries, and rests for a minute when the
// collector is away. The only file that knows it. Implements RUN-154, RUN-155, RUN-312
// and RUN-313.

import { hash } from "node:crypto";
import * as ConfigProvider from "effect/ConfigProvider";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Exit from "effect/Exit";
import * as Layer from "effect/Layer";
import * as Option from "effect/Option";
import * as Scope from "effect/Scope";
import * as EffectTracer from "effect/Tracer";
import * as FetchHttpClient from "effect/http/FetchHttpClient";
import * as HttpClient from "effect/http/HttpClient";
import * as OtlpSerialization from "effect/observability/OtlpSerialization";
import * as OtlpTracer from "effect/observability/OtlpTracer";
import type { Span, Tracer } from "@social-harness/router/Tracer";
import { version } from "../Version.ts";

export interface Traces {
  readonly tracer: Tracer;
  /** Sends what waits, and waits for it no longer than a stop can: a second, or less where less is left. */
  readonly close: (msMax?: number) => Promise<void>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** OTLP over HTTP in one of its two encodings. */
export type Protocol = "http/protobuf" | "http/json";

export interface StartOptions {
  readonly environment: Environment;
  readonly protocol: Protocol;
  readonly serviceName: string;
  /** A shorter limit for an export, for tests. */
  readonly exportMs?: number;
}

/** More than a person looks at, and a bounded memory while a collector hangs; what comes beyond in a second is dropped. */
const spansPerSecondMax = 500;
/** For one batch from its first byte to the end of the answer's head, so that a collector that hangs does not gather batches. */
export const exportMsMax = 5_000;
/** What a stop gives to the last batch: a part of the five seconds of the whole. */
const lastMsMax = 1_000;

const serializations = {
  "http/json": OtlpSerialization.layerJson,
  "http/protobuf": OtlpSerialization.layerProtobuf,
} as const satisfies Record<Protocol, unknown>;

/**
 * The status is all that is wanted of an answer, so its body is never read, however long it is. A redirect is an answer like any
 * other: the headers, which may hold a key, are for the address that the owner named.
 */
const fetchHead: typeof fetch = async (input, init) => {
  const answer = await fetch(input, { ...init, redirect: "manual" });
  await answer.body?.cancel();
  return new Response(null, { status: answer.status });
};

const client = (exportMs: number) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(
      HttpClient.HttpClient,
      HttpClient.transformResponse(
        Effect.timeoutOrElse({ duration: exportMs, orElse: () => Effect.interrupt }),
      ),
    ),
  ).pipe(
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetchHead)),
  );

/** What is about one post has one trace id, whoever tells of it: nothing has to be handed along with the post. */
const parentOf = ({ postId }: Span): Option.Option<EffectTracer.AnySpan> => {
  if (postId === undefined) return Option.none();
  const digest = hash("sha256", `trace of ${postId}`, "hex");
  return Option.some(
    EffectTracer.externalSpan({ traceId: digest.slice(0, 32), spanId: digest.slice(32, 48), sampled: true }),
  );
};

const nanoseconds = (milliseconds: number): bigint => BigInt(Math.round(milliseconds)) * 1_000_000n;

/** A closed word in the place of an error, without this file's stack. */
const failure = (word: string): Error => {
  const error = new Error(word);
  error.stack = word;
  return error;
};

const tell = (tracer: EffectTracer.Tracer, span: Span): void => {
  const begun = tracer.span({
    name: span.name,
    parent: parentOf(span),
    annotations: Context.empty(),
    links: [],
    startTime: nanoseconds(span.startedAt),
    kind: "internal",
    root: span.postId === undefined,
    sampled: true,
  });
  for (const [name, value] of Object.entries(span.attributes)) begun.attribute(name, value);
  if (span.postId !== undefined) begun.attribute("social_harness.post_id", span.postId);
  if (span.failed !== null) begun.attribute("error.type", span.failed);
  begun.end(nanoseconds(span.endedAt), span.failed === null ? Exit.void : Exit.fail(failure(span.failed)));
};

/** Null where a variable cannot be used; nothing says which, because its value may be a secret. */
export const start = async ({
  environment,
  protocol,
  serviceName,
  exportMs = exportMsMax,
}: StartOptions): Promise<Traces | null> => {
  // Asked for by its endpoint, as the standard has it; Effect waits for the exporter's name.
  const env = Object.fromEntries(
    Object.entries({ OTEL_SERVICE_NAME: serviceName, OTEL_TRACES_EXPORTER: "otlp", ...environment }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
    ),
  );
  const layer = OtlpTracer.layerFromConfig({ resource: { serviceVersion: version } }).pipe(
    Layer.provide([
      client(exportMs),
      serializations[protocol],
      ConfigProvider.layer(ConfigProvider.fromEnv({ env })),
    ]),
  );
  const scope = Scope.makeUnsafe();
  const built = await Effect.runPromiseExit(Layer.buildWithScope(layer, scope));
  if (Exit.isFailure(built)) {
    await Effect.runPromiseExit(Scope.close(scope, Exit.void));
    return null;
  }
  const tracer = Context.get(built.value as Context.Context<never>, EffectTracer.Tracer);
  let second = 0;
  let told = 0;
  return {
    tracer: (span) => {
      const now = Math.floor(span.endedAt / 1_000);
      if (now !== second) [second, told] = [now, 0];
      told += 1;
      if (told <= spansPerSecondMax) tell(tracer, span);
    },
    close: async (msMax = lastMsMax) => {
      const closed = Effect.runPromiseExit(Scope.close(scope, Exit.void));
      await Promise.race([
        closed,
        new Promise((resolve) => setTimeout(resolve, Math.min(Math.max(msMax, 0), lastMsMax)).unref()),
      ]);
    },
  };
};
