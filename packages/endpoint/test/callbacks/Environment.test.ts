// What a callback does not take from the environment of its process, and what a process does not load without one.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";
import { makeAuthority } from "./Certificates.ts";
import { authority, loopback, startReceiver, startTcp, type Receiver } from "./Receiver.ts";

const script = fileURLToPath(new URL("./CallbackProcess.ts", import.meta.url));
const run = promisify(execFile);

interface Outcome {
  /** Files of the HTTP client that were loaded before the first callback, and whether some were after it. */
  readonly idle: number;
  readonly busy: boolean;
  readonly all: number;
  readonly outcome: number | string;
}

const callFrom = async (
  receiver: Pick<Receiver, "port">,
  environment: Readonly<Record<string, string>>,
): Promise<Outcome> => {
  const file = join(temporaryFolder(), "authority.pem");
  writeFileSync(file, authority.certificate);
  const { stdout } = await run(process.execPath, [script, String(receiver.port), file], {
    env: { ...process.env, ...environment },
  });
  return JSON.parse(stdout) as Outcome;
};

verifies(
  ["ING-68", "ING-75", "RUN-231"],
  "no proxy is used, and no HTTP client is loaded before the first callback (C25)",
  async () => {
    const receiver = await startReceiver((_request, response) => void response.writeHead(204).end());
    const proxy = await startTcp((socket) => void socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"));
    onTestFinished(async () => {
      await receiver.close();
      await proxy.close();
    });
    const address = `http://127.0.0.1:${proxy.port}`;
    const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    const answer = await callFrom(receiver, {
      ...Object.fromEntries(names.map((name) => [name, address])),
      NODE_USE_ENV_PROXY: "1",
      NO_PROXY: "",
      no_proxy: "",
    });
    expect(answer).toMatchObject({ idle: 0, busy: true, outcome: 204 });
    expect(answer.all).toBeGreaterThan(50);
    expect([receiver.connections(), proxy.connections()]).toEqual([1, 0]);
  },
);

verifies("ING-67", "a variable that turns certificates off does not turn them off here", async () => {
  const issued = makeAuthority("another authority").issue(["receiver.example"]);
  const receiver = await startReceiver((_request, response) => void response.end(), { issued });
  onTestFinished(receiver.close);
  const answer = await callFrom(receiver, { NODE_TLS_REJECT_UNAUTHORIZED: "0", NODE_NO_WARNINGS: "1" });
  expect(answer.outcome).toBe("tls-failed");
  expect(receiver.requests).toEqual([]);
});

verifies(
  "ING-265",
  "an option that allows versions of TLS that are broken does not allow them here",
  async () => {
    const versions: Array<string | null> = [];
    const server = createTlsServer({
      ...authority.issue(["receiver.example"]),
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    server.on("secureConnection", (socket) => {
      versions.push(socket.getProtocol());
      socket.end("HTTP/1.1 200 OK\r\n\r\n");
    });
    server.on("tlsClientError", () => undefined);
    server.listen(0, loopback);
    await once(server, "listening");
    onTestFinished(async () => void (await new Promise((resolve) => server.close(resolve))));
    const { port } = server.address() as AddressInfo;
    const answer = await callFrom(
      { port },
      {
        NODE_OPTIONS: "--tls-min-v1.0 --tls-cipher-list=DEFAULT@SECLEVEL=0",
      },
    );
    expect([answer.outcome, versions]).toEqual(["tls-failed", []]);
  },
);
