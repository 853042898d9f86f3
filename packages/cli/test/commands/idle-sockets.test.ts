// A clean stop of each server with sockets on it that will never say anything more, wherever they have come to.

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { cert, key } from "@social-harness/testkit/SelfSigned";
import { verifies } from "@social-harness/testkit/Verifies";
import { serve } from "../Binary.ts";
import { joined, root, startDaemon } from "../Town.ts";

const stopMsMax = 5_000;
const each = 3;
const sockets: Array<Socket> = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

const upgrade =
  "GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
/** What was said before the silence. */
const said = {
  nothing: "",
  "half a head": "GET /healthz HTTP/1.1\r\nhost: x\r\nx-a",
  "half a body": "POST /v1/identities:lookup HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\n{",
  "a whole request": "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
  "half an upgrade": upgrade,
  "a whole upgrade": `${upgrade}\r\n`,
} as const;

const open = async (url: string, secure: boolean, words: string): Promise<void> => {
  const { port } = new URL(url);
  const socket = secure
    ? connectTls({ port: Number(port), host: "127.0.0.1", ca: cert })
    : connect(Number(port), "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined);
  await once(socket, secure ? "secureConnect" : "connect");
  // Half open from here on would be an end; what stays is a reader that reads nothing.
  socket.pause();
  await new Promise<void>((resolve) => socket.write(words, () => resolve()));
};

const crowd = async (url: string, secure: boolean): Promise<void> => {
  for (let i = 0; i < each; i++) {
    for (const words of Object.values(said)) await open(url, secure, words);
    if (!secure) continue;
    // A handshake that has not begun, and one that stands at its first bytes.
    await open(url, false, "");
    await open(url, false, "\u0016\u0003\u0001\u0002\u0000\u0001");
  }
};

const tlsFiles = (): ReadonlyArray<string> => {
  const files = { "cert.pem": cert, "key.pem": key };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text, { mode: 0o600 });
  return ["--tls-cert", join(root, "cert.pem"), "--tls-key", join(root, "key.pem")];
};

const stopTime = async (served: { readonly stop: () => Promise<number | null> }): Promise<number> => {
  const started = performance.now();
  expect(await served.stop()).toBe(0);
  return performance.now() - started;
};

for (const secure of [false, true]) {
  verifies(
    "RTR-52",
    `sockets that stand still ${secure ? "in TLS " : ""}do not hold up the stop of a network`,
    async () => {
      const command = ["network", "start", "--data", join(root, `idle-${secure}`), "--listen", "127.0.0.1:0"];
      for (const which of ["registryUrl", "routerUrl"]) {
        const network = await serve([...command, ...(secure ? tlsFiles() : []), "--json"]);
        await crowd(network.ready[which] as string, secure);
        expect(await stopTime(network)).toBeLessThan(stopMsMax);
      }
    },
    60_000,
  );
}

verifies(
  "RTR-52",
  "nor that of a daemon",
  async () => {
    const state = join(root, "ada");
    await joined(state, "ada-agent");
    const daemon = await startDaemon(state);
    await crowd(daemon.ready["mcpUrl"] as string, false);
    expect(await stopTime(daemon)).toBeLessThan(stopMsMax);
  },
  60_000,
);
