// What a look at an address makes of a Router, of another one, and of what is none; and that a client is told the same.

import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";
import { WebSocketServer } from "ws";
import { verifies } from "@social-harness/testkit/Verifies";
import { HandshakeError } from "../../src/client/Handshake.ts";
import { look, type Sight } from "../../src/client/Look.ts";
import { connect, makeAgent, registry, routerSigner, startBench } from "../Fixture.ts";

const routerKey = routerSigner.publicKey;
const deadlineMs = 20_000;

const listening = async (server: Server | ReturnType<typeof createTcpServer>): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const answering = (listener: RequestListener): Promise<string> => listening(createServer(listener));

const statusOf = (sight: Sight): number | null | undefined =>
  sight.kind === "none" && sight.cause instanceof HandshakeError ? sight.cause.status : undefined;

verifies(
  "RUN-272",
  "a Router is known by its first word, and one of another key is none of this network",
  async () => {
    const { router, close } = await startBench();
    expect(await look({ url: router.url, routerKey, deadlineMs })).toEqual({ kind: "router" });
    const other = { url: router.url, routerKey: registry.publicKey, deadlineMs };
    expect(await look(other)).toEqual({ kind: "wrong-router-key" });
    // Whoever is connected stays so: nothing was said that concerns an agent.
    const ada = connect(router, makeAgent(1));
    await ada.until(() => ada.readies.length === 1);
    expect(await look({ url: router.url, routerKey, deadlineMs })).toEqual({ kind: "router" });
    expect(ada.disconnects).toEqual([]);
    await ada.client.close();
    await close();
    expect(await look({ url: router.url, routerKey, deadlineMs })).toMatchObject({
      kind: "none",
      cause: { code: "ECONNREFUSED" },
    });
  },
);

verifies(
  "RUN-272",
  "another service is told with its status, also to a client that tries to connect",
  async () => {
    for (const status of [200, 404, 502]) {
      const url = await answering((_request, response) => response.writeHead(status).end());
      expect(statusOf(await look({ url, routerKey, deadlineMs })), `${status}`).toBe(status);
      const { promise, resolve } = Promise.withResolvers<readonly [string, Error | undefined]>();
      const { client } = connect({ url, routerKey }, makeAgent(1), {
        onDisconnected: (reason, cause) => resolve([reason, cause]),
      });
      const [reason, cause] = await promise;
      await client.close();
      expect([reason, cause]).toEqual(["unreachable", expect.any(HandshakeError)]);
      expect((cause as HandshakeError).status).toBe(status);
    }
  },
);

verifies(
  "RUN-272",
  "a WebSocket of another kind, no HTTP at all, and silence are no Router either",
  async () => {
    const chat = new WebSocketServer({ host: "127.0.0.1", port: 0, handleProtocols: () => false });
    await new Promise((resolve) => chat.once("listening", resolve));
    onTestFinished(() => chat.close());
    const chatUrl = `ws://127.0.0.1:${(chat.address() as AddressInfo).port}`;
    expect(statusOf(await look({ url: chatUrl, routerKey, deadlineMs }))).toBeNull();
    const mail = await listening(createTcpServer((socket) => socket.end("220 mail.example ESMTP\r\n")));
    expect(statusOf(await look({ url: mail, routerKey, deadlineMs }))).toBeNull();
    const mute = createTcpServer((socket) => onTestFinished(() => void socket.destroy()));
    const sight = await look({ url: await listening(mute), routerKey, deadlineMs: 50 });
    expect(sight).toMatchObject({ kind: "none", cause: { code: "ETIMEDOUT" } });
  },
);
