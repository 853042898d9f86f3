// A handler of Web requests behind HTTPS on loopback, with a log of what came and what was answered. Its certificate is the
// tests' own. Knows nothing of what the handler makes of a request, except that it can be kept from being asked at all.

import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { cert, key } from "@social-harness/testkit/SelfSigned";

export interface Exchange {
  readonly headers: Headers;
  readonly body: string;
  readonly status: number;
  /** What the body is about: the `type` of a control message, "event" for an event. */
  readonly kind: string;
}

export interface HttpsReceiver {
  readonly url: string;
  /** Everything that was answered, the oldest first. */
  readonly exchanges: ReadonlyArray<Exchange>;
  readonly close: () => Promise<void>;
}

const kindOf = (body: string): string => {
  const { type } = JSON.parse(body) as { readonly type?: string };
  return type ?? "event";
};

export const certificateAuthority = cert;

/**
 * `stand`: asked before the handler; a status that it names is the answer, and the handler hears nothing of the request.
 */
export const start = async (
  handler: (request: Request) => Promise<Response>,
  stand: (kind: string) => number | null,
): Promise<HttpsReceiver> => {
  const exchanges: Array<Exchange> = [];
  const server = createServer({ key, cert }, async (incoming, outgoing) => {
    const body = Buffer.concat((await incoming.toArray()) as ReadonlyArray<Buffer>);
    const headers = new Headers(
      Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const url = new URL(incoming.url ?? "/", `https://${incoming.headers.host}`);
    const text = body.toString("utf8");
    const kind = kindOf(text);
    const status = stand(kind);
    const answer =
      status === null
        ? await handler(new Request(url, { method: incoming.method ?? "GET", headers, body }))
        : new Response(null, { status });
    exchanges.push({ headers, body: text, status: answer.status, kind });
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    exchanges,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};
