// A door in front of a real Registry: it can hold requests back, hold answers back that the Registry gave, or lose one.

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
  /** From now on the Registry acts, and its answers to registrations stay here until `open`. */
  readonly holdAnswers: () => void;
  /** Resolves when an answer of the Registry is held back. */
  readonly untilAnswered: () => Promise<void>;
  /** The next answer to a registration breaks off after the Registry gave it. */
  readonly loseNextAnswer: () => void;
  readonly close: () => Promise<void>;
}

export const startRegistryGate = async (target: string): Promise<RegistryGate> => {
  let door = Promise.withResolvers<void>();
  door.resolve();
  let exit = Promise.withResolvers<void>();
  exit.resolve();
  let losing = false;
  let waiting = 0;
  let held = 0;
  const server = createServer((request, response) => {
    const handOn = async (): Promise<void> => {
      const body = await buffer(request);
      waiting++;
      await door.promise;
      waiting--;
      // Whoever knocked may be gone when the door opens: a request that never arrived whole is none.
      if (request.socket.destroyed) return;
      const { host: _host, connection: _connection, ...headers } = request.headers;
      const answer = await fetch(target + request.url, {
        method: "POST",
        headers: headers as Record<string, string>,
        body,
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const isRegistration = request.url === Wire.registerPath;
      if (isRegistration) {
        held++;
        await exit.promise;
        held--;
      }
      if (losing && isRegistration) {
        losing = false;
        response.destroy();
        return;
      }
      // A client may say a request again over a fresh socket when a used one breaks off: each gets its own.
      response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), connection: "close" });
      response.end(bytes);
    };
    // Nor need anybody be there for the answer.
    handOn().catch(() => response.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shut: () => {
      door = Promise.withResolvers();
    },
    open: () => {
      door.resolve();
      exit.resolve();
    },
    untilKnocked: () => until("a request stands at the door", () => waiting > 0),
    holdAnswers: () => {
      exit = Promise.withResolvers();
    },
    untilAnswered: () => until("an answer is held back", () => held > 0),
    loseNextAnswer: () => {
      losing = true;
    },
    close: () => {
      door.resolve();
      exit.resolve();
      server.closeAllConnections();
      return new Promise((closed) => server.close(() => closed()));
    },
  };
};
