// A host program as a bench plays it: one official MCP client to one endpoint, whose event stream wakes it and whose inbox
// it then reads. Measures nothing itself.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import * as Schema from "effect/Schema";

const protocolVersion = "2026-07-28";
const streamMsMax = 3_600_000;
const itemMsMax = 30_000;

/** Takes what the server says as it is: the bench looks only at what it needs. */
const anything = {
  "~standard": { version: 1 as const, vendor: "bench", validate: (value: unknown) => ({ value }) },
};

const decodePage = Closed.decoder(
  Schema.Struct({
    items: Schema.Array(Schema.Struct({ deliveryToken: Schema.String, item: Schema.Unknown })),
    nextCursor: Schema.optionalKey(Schema.String),
  }),
);
type Page = ReturnType<typeof decodePage>;

export interface Arrived {
  readonly page: Page;
  /** When the event came that says so: from then on the items can be read. On the clock of `performance.now`. */
  readonly readableAt: number;
}

export interface Host {
  readonly send: (to: string, text: string) => Promise<void>;
  readonly status: () => Promise<void>;
  readonly readInbox: () => Promise<Page>;
  readonly acknowledge: (deliveryToken: string) => Promise<void>;
  /** Resolves with the first page that holds items, read once the event stream has said that there are some. */
  readonly nextItems: () => Promise<Arrived>;
  readonly close: () => Promise<void>;
}

/** Rejects when the item that a bench waits for does not come: it would otherwise wait for ever. */
const soon = async <A>(work: Promise<A>): Promise<A> => {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`nothing came within ${itemMsMax} ms`)), itemMsMax);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

export const connect = async (mcpUrl: string): Promise<Host> => {
  const client = new Client(
    { name: "bench", version: "0.1.0" },
    { versionNegotiation: { mode: { pin: protocolVersion } } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl)));
  let wake = Promise.withResolvers<void>();
  client.setNotificationHandler("notifications/events/event", { params: anything }, () => wake.resolve());
  const stopped = new AbortController();
  const stream = client
    .request({ method: "events/stream", params: { name: "org.social-harness/inbox.pending" } }, anything, {
      timeout: streamMsMax,
      signal: stopped.signal,
    })
    .catch(() => undefined);
  const call = async (name: string, args: Readonly<Record<string, unknown>> = {}): Promise<unknown> => {
    const { structuredContent } = await client.callTool({ name, arguments: { ...args } });
    return structuredContent;
  };
  const readInbox = async (): Promise<Page> => decodePage(await call("read_inbox"));
  return {
    send: async (to, text) => void (await call("send_message", { input: { to, text } })),
    status: async () => void (await call("status")),
    readInbox,
    acknowledge: async (deliveryToken) => void (await call("acknowledge_delivery", { deliveryToken })),
    nextItems: async () => {
      for (;;) {
        await soon(wake.promise);
        wake = Promise.withResolvers<void>();
        const readableAt = performance.now();
        const page = await readInbox();
        if (page.items.length > 0) return { page, readableAt };
      }
    },
    close: async () => {
      stopped.abort();
      await stream;
      await client.close();
    },
  };
};
