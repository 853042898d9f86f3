// One POST to one Registry: bounded, deadlined, to exactly the configured address. Follows no redirect, uses no proxy
// but one that it is given, keeps sockets of its own. Turns every status into the closed error that it means, and takes no answer of a
// Registry that names another key. Implements IDN-61 and RTR-55.

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type ProxyEnv } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Dialled from "@social-harness/protocol/sockets/Dialled";
import * as Limits from "../Limits.ts";
import { isLoopback } from "../NetworkUrl.ts";
import * as Wire from "../Wire.ts";
import { RegistryError } from "./RegistryError.ts";

export interface Call {
  readonly path: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answerBytesMax: number;
  readonly signal: AbortSignal;
}

export interface HttpCaller {
  /** The body of a 200 answer. Rejects with `RegistryError`, or with the signal's abort as `unavailable`. */
  readonly post: (call: Call) => Promise<Buffer>;
  readonly close: () => void;
}

interface Answer {
  readonly status: number;
  readonly mediaType: string;
  readonly retryAfter: string | undefined;
  readonly registryKey: string | undefined;
  readonly body: Buffer;
}

const decodeError = Closed.bytesDecoder(Wire.ErrorAnswer, { bytesMax: 64, depthMax: 1 });

const readAnswer = (response: IncomingMessage, bytesMax: number): Promise<Answer> => {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const chunks: Array<Buffer> = [];
  let size = 0;
  response.on("data", (chunk: Buffer) => {
    size += chunk.byteLength;
    if (size > bytesMax) {
      reject(new RegistryError("invalid-answer", "the Registry's answer is too long"));
      response.destroy();
    } else {
      chunks.push(chunk);
    }
  });
  response.on("end", () =>
    resolve({
      status: response.statusCode ?? 0,
      mediaType: response.headers["content-type"] ?? "",
      retryAfter: response.headers["retry-after"],
      registryKey: response.headersDistinct[Wire.registryKeyHeader]?.join(),
      body: Buffer.concat(chunks),
    }),
  );
  const broken = (): void => reject(new RegistryError("unavailable", "the Registry's answer broke off"));
  response.on("error", broken);
  response.on("close", broken);
  return promise;
};

/** The body of a good answer; throws what any other answer means. */
const bodyOf = (pinnedKey: SigningKey, answer: Answer): Buffer => {
  const { status, mediaType, retryAfter, registryKey, body } = answer;
  if (registryKey !== undefined && registryKey !== pinnedKey) {
    throw new RegistryError(
      "wrong-registry-key",
      "what answers at the Registry's address has another key than the pinned one",
    );
  }
  if (status >= 500) throw new RegistryError("unavailable", `the Registry answered ${status}`);
  if (status === 429) {
    const seconds = /^\d{1,5}$/.test(retryAfter ?? "") ? Number(retryAfter) : 1;
    throw new RegistryError("overloaded", `the Registry asks to wait ${seconds} s`, {
      retryAfterSeconds: seconds,
    });
  }
  if (!mediaType.startsWith("application/json")) {
    throw new RegistryError("invalid-answer", "the Registry's answer is not JSON");
  }
  if (status === 200) {
    if (registryKey !== undefined) return body;
    throw new RegistryError("invalid-answer", "the Registry's answer does not name its key");
  }
  const code = errorCodeOf(body);
  if (code === null || Wire.statusOf[code] !== status) {
    throw new RegistryError("invalid-answer", `the Registry answered ${status} without a known error`);
  }
  throw new RegistryError("refused", `the Registry refused the request: ${code}`, { code });
};

const errorCodeOf = (body: Buffer): Wire.ErrorCode | null => {
  try {
    return decodeError(body).error;
  } catch (cause) {
    if (cause instanceof DecodeError) return null;
    throw cause;
  }
};

/** What a call's socket comes from, and how that ends. */
interface Way {
  readonly agent: HttpAgent;
  readonly cut: Dialled.EndAll;
}

const makeWays = (base: string, proxyEnvironment: ProxyEnv | undefined) => {
  const secure = base.startsWith("https:");
  const kept = new (secure ? HttpsAgent : HttpAgent)({
    keepAlive: true,
    maxSockets: Limits.clientSocketsMax,
  });
  const open = new Set<Dialled.EndAll>();
  return {
    start: secure ? httpsRequest : httpRequest,
    /** Through a proxy each call has an agent of its own: else one at which it says nothing could not be ended with the call. */
    begin: (): Way => {
      if (proxyEnvironment === undefined || !secure || isLoopback(new URL(base).hostname)) {
        return { agent: kept, cut: () => {} };
      }
      const agent = new HttpsAgent({ proxyEnv: proxyEnvironment });
      const cut = Dialled.watch(agent);
      open.add(cut);
      return { agent, cut };
    },
    end: ({ cut }: Way): void => {
      cut();
      open.delete(cut);
    },
    close: (): void => {
      kept.destroy();
      for (const cut of open) cut(new Error("the client was closed"));
    },
  };
};

export const makeHttpCaller = (
  baseUrl: string,
  pinnedKey: SigningKey,
  proxyEnvironment?: ProxyEnv,
): HttpCaller => {
  const base = baseUrl.replace(/\/$/, "");
  const ways = makeWays(base, proxyEnvironment);

  let closed = false;

  const exchange = (call: Call): Promise<Answer> => {
    if (closed) return Promise.reject(new RegistryError("unavailable", "the client is closed"));
    const { path, body, headers, answerBytesMax, signal } = call;
    if (signal.aborted) {
      const cause: unknown = signal.reason;
      return Promise.reject(new RegistryError("unavailable", "the Registry cannot be reached", { cause }));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const way = ways.begin();
    const giveUp = (): void => way.cut(new Error("the call was given up"));
    signal.addEventListener("abort", giveUp);
    const request = ways.start(`${base}${path}`, {
      method: "POST",
      agent: way.agent,
      signal,
      headers: {
        "content-type": "application/json",
        "content-length": body.byteLength,
        [Wire.versionHeader]: Wire.version,
        ...headers,
      },
    });
    request.on("response", (response) => readAnswer(response, answerBytesMax).then(resolve, reject));
    request.on("error", (cause) => {
      // A kept socket that the Registry closed meanwhile says nothing about the Registry. Every request may be repeated.
      const stale = request.reusedSocket && "code" in cause && cause.code === "ECONNRESET";
      if (stale && !signal.aborted && !closed) exchange(call).then(resolve, reject);
      else reject(new RegistryError("unavailable", "the Registry cannot be reached", { cause }));
    });
    request.end(body);
    return promise.finally(() => {
      signal.removeEventListener("abort", giveUp);
      ways.end(way);
    });
  };

  return {
    post: async (call) => bodyOf(pinnedKey, await exchange(call)),
    close: () => {
      closed = true;
      ways.close();
    },
  };
};
