// One connection that is kept, and requests on it one after another, with as little as possible between a test and its bytes:
// cheap enough for a hundred thousand calls, and a way to see what one connection hears in which order.

import { once } from "node:events";
import { connect } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly text: string;
}

export interface RawConnection {
  /** Rejects when the connection ends before the answer is whole. */
  readonly post: (headers: Readonly<Record<string, string>>, body: string | Uint8Array) => Promise<RawAnswer>;
  readonly close: () => void;
}

/** The body in `bytes` from `start` on and where it ends; null while some of it is missing. */
const bodyAt = (
  bytes: Buffer,
  start: number,
  head: string,
): { readonly text: string; readonly end: number } | null => {
  const length = /^content-length: (\d+)\r?$/im.exec(head)?.[1];
  if (length !== undefined) {
    const end = start + Number(length);
    return bytes.length < end ? null : { text: bytes.toString("utf8", start, end), end };
  }
  if (!/^transfer-encoding: chunked\r?$/im.test(head)) return { text: "", end: start };
  const parts: Array<Buffer> = [];
  for (let at = start; ;) {
    const line = bytes.indexOf("\r\n", at);
    if (line === -1) return null;
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
    if (bytes.length < line + 2 + size + 2) return null;
    if (size === 0) return { text: Buffer.concat(parts).toString("utf8"), end: line + 4 };
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
};

export const open = async (port: number): Promise<RawConnection> => {
  const socket = connect(port, "127.0.0.1").setNoDelay(true);
  await once(socket, "connect");
  let received = Buffer.alloc(0);
  let waiting: PromiseWithResolvers<RawAnswer> | null = null;
  const fail = (): void => waiting?.reject(new Error("the connection ended before the answer"));
  socket.on("error", fail).on("close", fail);
  socket.on("data", (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const headEnd = received.indexOf("\r\n\r\n");
    if (headEnd === -1 || waiting === null) return;
    const head = received.toString("latin1", 0, headEnd);
    const body = bodyAt(received, headEnd + 4, head);
    if (body === null) return;
    received = received.subarray(body.end);
    const { resolve } = waiting;
    waiting = null;
    resolve({ status: Number(head.slice(9, 12)), head, text: body.text });
  });
  return {
    post: (headers, body) => {
      const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
      const all: Readonly<Record<string, string>> = {
        host: `127.0.0.1:${port}`,
        "content-type": "application/json",
        "content-length": String(bytes.length),
        ...headers,
      };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
      waiting = Promise.withResolvers<RawAnswer>();
      const { promise } = waiting;
      socket.cork();
      socket.write(`POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1");
      socket.write(bytes);
      socket.uncork();
      return promise;
    },
    close: () => void socket.destroy(),
  };
};
