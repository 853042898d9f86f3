// A loopback proxy that adds one header to every request: what stands between a tool that knows no tokens and an endpoint
// that asks for one. The endpoint sees its own Host where the client named the proxy's, and every other Host untouched, so
// that what it thinks of a foreign one can still be seen.

import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface HeaderProxy {
  readonly url: string;
  readonly close: () => Promise<void>;
}

const forward = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  target: URL,
  headers: Readonly<Record<string, string>>,
): void => {
  const onward = request(
    {
      host: target.hostname,
      port: target.port,
      method: incoming.method,
      path: incoming.url,
      headers: { ...incoming.headers, ...headers },
      agent: false,
    },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    },
  );
  onward.on("error", () => outgoing.destroy());
  outgoing.on("close", () => onward.destroy());
  incoming.pipe(onward);
};

export const start = async (target: URL, header: readonly [string, string]): Promise<HeaderProxy> => {
  const server = createServer((incoming, outgoing) => {
    const { port } = server.address() as AddressInfo;
    const translated = ["host", "origin"].flatMap((name): ReadonlyArray<readonly [string, string]> => {
      const value = incoming.headers[name];
      return typeof value === "string" ? [[name, value.replace(`:${port}`, `:${target.port}`)]] : [];
    });
    forward(incoming, outgoing, target, Object.fromEntries([...translated, header]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${target.pathname}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
};
