// A daemon that is killed and started again on its port, under clients that know nothing of it.

import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { serve } from "../Binary.ts";
import { joined, root } from "../Town.ts";

const freePort = async (): Promise<string> => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return String(port);
};

const streamRequest = {
  jsonrpc: "2.0",
  id: 1,
  method: "events/stream",
  params: {
    name: "org.social-harness/inbox.pending",
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
};

const openEvents = async (url: string): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
  const { body } = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "events/stream",
    },
    body: JSON.stringify(streamRequest),
  });
  if (body === null) throw new Error("no stream was opened");
  return body.getReader();
};

verifies(
  ["MGT-13", "MGT-150"],
  "C16: after a kill the same client calls on, its listener and its event stream end, and both open again",
  async () => {
    const state = join(root, "ada");
    await joined(state, "ada-agent");
    const daemon = ["daemon", "--state", state, "--port", await freePort(), "--json"];
    let running = await serve(daemon);
    const url = running.ready["mcpUrl"] as string;
    const client = new Client(
      { name: "stays", version: "1" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const status = async () => (await client.callTool({ name: "status", arguments: {} })).structuredContent;
    const atFirst = await status();
    for (let i = 0; i < 2; i++) {
      const listener = await client.listen({ toolsListChanged: true });
      const events = await openEvents(url);
      expect(new TextDecoder().decode((await events.read()).value)).toContain("notifications/events/active");
      await running.stop("SIGKILL");
      await listener.closed;
      await expect(events.read()).rejects.toThrow();
      running = await serve(daemon);
      expect(await status()).toEqual(atFirst);
    }
    const events = await openEvents(url);
    expect(new TextDecoder().decode((await events.read()).value)).toContain("notifications/events/active");
    await (await client.listen({ toolsListChanged: true })).close();
    await events.cancel();
    await client.close();
    expect(await running.stop()).toBe(0);
  },
);
