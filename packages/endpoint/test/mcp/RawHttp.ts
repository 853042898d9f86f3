// HTTP without a client's good manners: any head, any body, and JSON-RPC calls whose envelope a test may damage.

import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";

export const revision = "2026-07-28";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | Array<string> | undefined>>;
  readonly text: string;
  readonly body: {
    readonly result?: Readonly<Record<string, unknown>>;
    readonly error?: {
      readonly code: number;
      readonly message: string;
      readonly data?: Readonly<Record<string, unknown>>;
    };
  };
}

export interface Post {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | Array<string>>>;
  readonly body?: string | Uint8Array;
}

const open = async (port: number, post: Post): Promise<IncomingMessage> => {
  const outgoing = request({
    host: "127.0.0.1",
    port,
    method: post.method ?? "POST",
    path: post.path ?? "/mcp",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...post.headers,
    },
    agent: false,
  });
  outgoing.end(post.body ?? "");
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  return incoming;
};

const answerOf = async (incoming: IncomingMessage): Promise<Answer> => {
  const chunks: Array<Buffer> = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  const isJson = text !== "" && incoming.headers["content-type"]?.startsWith("application/json") === true;
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text,
    body: isJson ? (JSON.parse(text) as Answer["body"]) : {},
  };
};

export const send = async (port: number, post: Post): Promise<Answer> => answerOf(await open(port, post));

export const meta = {
  "io.modelcontextprotocol/protocolVersion": revision,
  "io.modelcontextprotocol/clientCapabilities": {},
};

export const headersOf = (method: string, name?: string): Record<string, string> => ({
  "mcp-protocol-version": revision,
  "mcp-method": method,
  ...(name === undefined ? {} : { "mcp-name": name }),
});

/** A well-formed request of the current revision. */
export const message = (method: string, params: Readonly<Record<string, unknown>> = {}, id: unknown = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  params: { ...params, _meta: meta },
});

/** The credential of a caller that has one. */
export const bearer = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

export const rpc = (
  port: number,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  token?: string,
) =>
  send(port, {
    headers: { ...headersOf(method), ...bearer(token) },
    body: JSON.stringify(message(method, params)),
  });

/** A tool call whose name and arguments may be anything; the name header agrees with the body when it can. */
export const callTool = (port: number, name: unknown, args?: unknown, token?: string): Promise<Answer> => {
  const params = { name, ...(args === undefined ? {} : { arguments: args }) };
  return send(port, {
    headers: { ...headersOf("tools/call", typeof name === "string" ? name : undefined), ...bearer(token) },
    body: JSON.stringify(message("tools/call", params)),
  });
};

export type Frame = {
  readonly method?: string;
  readonly id?: unknown;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
};

export interface FrameStream {
  /** The next frame; null once the server has ended the response. */
  readonly next: () => Promise<Frame | null>;
  readonly leave: () => void;
}

const framesOf = (incoming: IncomingMessage): FrameStream => {
  incoming.on("error", () => {});
  const chunks = (incoming as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let text = "";
  const next = async (): Promise<Frame | null> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end === -1) {
        const chunk = await chunks.next();
        if (chunk.done === true) return null;
        text += chunk.value.toString("utf8");
        continue;
      }
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data !== undefined) return JSON.parse(data.slice(6)) as Frame;
    }
  };
  return { next, leave: () => incoming.destroy() };
};

export type Beginning =
  | { readonly kind: "stream"; readonly stream: FrameStream }
  | { readonly kind: "answer"; readonly answer: Answer };

/** Sends a request that may be answered with a stream, or with a refusal instead of one. */
export const begin = async (
  port: number,
  method: string,
  params: Readonly<Record<string, unknown>>,
  id: unknown = 1,
  token?: string,
): Promise<Beginning> => {
  const incoming = await open(port, {
    headers: { ...headersOf(method), ...bearer(token) },
    body: JSON.stringify(message(method, params, id)),
  });
  return incoming.headers["content-type"] === "text/event-stream"
    ? { kind: "stream", stream: framesOf(incoming) }
    : { kind: "answer", answer: await answerOf(incoming) };
};

/** The head of an answer; its body is left unread. */
export const headOf = async (
  port: number,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<Pick<Answer, "status" | "headers">> => {
  const incoming = await open(port, {
    headers: headersOf(method),
    body: JSON.stringify(message(method, params)),
  });
  incoming.on("error", () => {});
  incoming.destroy();
  return { status: incoming.statusCode ?? 0, headers: incoming.headers };
};

/** Opens a streaming request and reads its server-sent frames one by one; comments are skipped. */
export const stream = async (...asked: Parameters<typeof begin>): Promise<FrameStream> => {
  const beginning = await begin(...asked);
  if (beginning.kind === "stream") return beginning.stream;
  throw new Error(`no stream was opened: ${beginning.answer.text}`);
};

/** Bytes as they are, and everything that comes back until the server closes. */
export const raw = async (port: number, bytes: string): Promise<string> => {
  const socket: Socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.end(bytes);
  let text = "";
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString("latin1");
  return text;
};
