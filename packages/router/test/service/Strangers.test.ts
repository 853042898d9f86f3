// Whoever connects to the Router and does not say who it is: bounded in time and in number, and in nobody's way.

import { once } from "node:events";
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { cert, key } from "@social-harness/testkit/SelfSigned";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import type { Logger } from "../../src/Logger.ts";
import { connect, envelopeFrom, makeAgents, startBench, until, type Agent } from "../Fixture.ts";

const [ada, bob] = makeAgents(2) as [Agent, Agent];
const upgrade =
  "GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

const dial = async (url: string, words = "", secure = false): Promise<Socket> => {
  const port = Number(new URL(url).port);
  const socket = secure ? connectTls({ port, host: "127.0.0.1", ca: cert }) : connectPlain(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined).resume();
  await once(socket, secure ? "secureConnect" : "connect");
  socket.write(words);
  return socket;
};

/** Resolves when it is over, also by a reset: what the Router had not read yet when it ended it makes it one. */
const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve());
  });

const tls = { host: "127.0.0.1", port: 0, tls: { key, cert } };

verifies(
  "RTR-53",
  "a connection that says nothing, half a request or something else than hello ends",
  async () => {
    const limits = { headMs: 100, requestMs: 150, helloMs: 100 };
    for (const listen of [{ host: "127.0.0.1", port: 0 }, tls]) {
      const bench = await startBench({ limits, listen });
      const secure = listen === tls;
      const { url } = bench.router;
      const sockets = [
        // For TLS this one never begins its handshake.
        await dial(url),
        ...(await Promise.all(
          [
            "",
            "GET /healthz HTTP/1.1\r\nhost: x\r\nx-a: ",
            "GET /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n1",
            "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
            upgrade,
          ].map((words) => dial(url, words, secure)),
        )),
      ];
      await Promise.all(sockets.map(closed));
      await bench.close();
    }
  },
);

verifies(
  "RTR-54",
  "idle connections, however many, keep out nobody and cost no other a connection",
  async () => {
    const warnings: Array<readonly [string, object | undefined]> = [];
    const logger: Logger = (level, event, fields) => {
      if (level === "warn") warnings.push([event, fields]);
    };
    for (const listen of [{ host: "127.0.0.1", port: 0 }, tls]) {
      warnings.length = 0;
      const bench = await startBench({ limits: { strangersMax: 8 }, listen, logger });
      const secure = listen === tls;
      const options = { certificateAuthority: cert };
      const before = connect(bench.router, ada, options);
      await before.until(() => before.readies.length === 1);
      const idle: Array<Socket> = [];
      for (let i = 0; i < 24; i++) {
        // For TLS every third one never begins its handshake.
        const silent = i % 3 === 0;
        idle.push(await dial(bench.router.url, silent ? "" : upgrade, secure && !silent));
      }
      const open = (): number => idle.filter(({ destroyed }) => !destroyed).length;
      await until(() => open() <= 8);
      const after = connect(bench.router, bob, options);
      const { text, envelope } = envelopeFrom(bob, [ada], "through the crowd");
      expect(await after.client.send(text, envelope.messageId)).toMatchObject({ kind: "accepted" });
      await before.until(() => before.deliveries.length === 1);
      // The oldest made room for the newest, once more for the one that spoke; those that were let in stayed.
      await until(() => open() === 7);
      expect(idle.map(({ destroyed }) => destroyed)).toEqual(idle.map((_, i) => i < 17));
      expect([before.disconnects, after.disconnects]).toEqual([[], []]);
      expect(warnings).toEqual([["router crowded", { connections: 1 }]]);
      await Promise.all([before.client.close(), after.client.close()]);
      await bench.close();
    }
  },
);
