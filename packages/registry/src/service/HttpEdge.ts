// HTTP as the Registry speaks it: bounded bodies in, canonical JSON out, and for every refusal exactly one of the closed
// errors. Knows nothing of identities.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Wire from "../Wire.ts";

/** A request that gets an error for its answer. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: Wire.ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  constructor(code: Wire.ErrorCode, headers: Readonly<Record<string, string>> = {}) {
    super(code);
    this.code = code;
    this.headers = headers;
  }
}

/** The peer went away in the middle of its request: there is nobody to answer. */
export class Gone extends Error {
  override readonly name = "Gone";
}

const mediaType = /^application\/json(\s*;\s*charset=utf-8)?$/i;

/** Refuses anything but plain JSON: another media type, another character set, a compressed body. */
export const checkMediaType = ({ headers }: IncomingMessage): void => {
  const encoded = headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity";
  if (encoded || !mediaType.test(headers["content-type"] ?? "")) {
    throw new Refusal("unsupported_media_type");
  }
};

/** The whole body, or `payload_too_large` as soon as it is known to be longer, without holding more than `bytesMax`. */
export const readBody = (request: IncomingMessage, bytesMax: number): Promise<Buffer> => {
  if (Number(request.headers["content-length"] ?? 0) > bytesMax) {
    return Promise.reject(new Refusal("payload_too_large"));
  }
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Array<Buffer> = [];
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.byteLength;
    if (size > bytesMax) {
      chunks.length = 0;
      reject(new Refusal("payload_too_large"));
    } else {
      chunks.push(chunk);
    }
  });
  request.on("end", () => resolve(Buffer.concat(chunks)));
  request.on("error", () => reject(new Gone("the request ended early")));
  request.on("close", () => reject(new Gone("the request ended early")));
  return promise;
};

const fixedHeaders = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  [Wire.versionHeader]: Wire.version,
};

/** Writes one answer. What is left of the request's body is read and dropped, so that the peer can read the answer. */
export const respond = (
  response: ServerResponse,
  status: number,
  value: CanonicalJson.Json,
  headers: Readonly<Record<string, string>> = {},
): void => {
  const bytes = CanonicalJson.encodeBytes(value);
  response.writeHead(status, { ...fixedHeaders, "content-length": bytes.byteLength, ...headers });
  response.end(bytes);
};

export const respondError = (response: ServerResponse, { code, headers }: Refusal): void =>
  respond(response, Wire.statusOf[code], { error: code }, headers);

/** Peers that were too slow, ended early or are gone get no answer: their socket is closed. */
const unanswered = new Set<unknown>(["ERR_HTTP_REQUEST_TIMEOUT", "HPE_INVALID_EOF_STATE", "ECONNRESET"]);

/** Answers bytes that are no HTTP request, as the Registry of this key. */
export const refuseBytes = (registryKey: SigningKey, cause: Error, socket: Duplex): void => {
  const code = "code" in cause ? cause.code : undefined;
  if (!socket.writable || unanswered.has(code)) {
    socket.end(() => socket.destroy());
    return;
  }
  const error: Wire.ErrorCode = code === "HPE_HEADER_OVERFLOW" ? "payload_too_large" : "malformed";
  const body = CanonicalJson.encode({ error });
  socket.end(
    `HTTP/1.1 ${Wire.statusOf[error]} Refused\r\nconnection: close\r\ncontent-type: application/json\r\n` +
      `${Wire.registryKeyHeader}: ${registryKey}\r\ncache-control: no-store\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
    () => socket.destroy(),
  );
};
