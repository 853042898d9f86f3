// A door in front of a real Registry: it can hold requests back, and it can lose an answer after the Registry has acted.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import * as Wire from "@social-harness/registry/Wire";
import { until } from "@social-harness/testkit/network/Until";

export interface RegistryGate {
  readonly url: string;
  /** Holds every request back until `open`. */
  readonly shut: () => void;
  readonly open: () => void;
  /** Resolves when a request stands at the shut door. */
  readonly untilKnocked: () => Promise<void>;
  /** The next answer to a registration breaks off after the Registry gave it. */
  readonly loseNextAnswer: () => void;
  readonly close: () => Promise<void>;
}

export const startRegistryGate = async (target: string): Promise<RegistryGate> => {
  let door = Promise.withResolvers<void>();
  door.resolve();
  let losing = false;
  let waiting = 0;
  const server = createServer((request, response) => {
    const handOn = async (): Promise<void> => {
      const body = await buffer(request);
      waiting++;
      await door.promise;
      waiting--;
      const { host: _host, connection: _connection, ...headers } = request.headers;
      const answer = await fetch(target + request.url, {
        method: "POST",
        headers: headers as Record<string, string>,
        body,
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      if (losing && request.url === Wire.registerPath) {
        losing = false;
        response.destroy();
        return;
      }
      // A client may say a request again over a fresh socket when a used one breaks off: each gets its own.
      response.writeHead(answer.status, {
        connection: "close",
        "content-type": answer.headers.get("content-type") ?? "",
      });
      response.end(bytes);
    };
    // Whoever knocked may be gone when the door opens.
    handOn().catch(() => response.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shut: () => {
      door = Promise.withResolvers();
    },
    open: () => door.resolve(),
    untilKnocked: () => until("a request stands at the door", () => waiting > 0),
    loseNextAnswer: () => {
      losing = true;
    },
    close: () => {
      door.resolve();
      server.closeAllConnections();
      return new Promise((closed) => server.close(() => closed()));
    },
  };
};
