// A proxy that takes every connection and leads nowhere: it never answers CONNECT, or says yes and then nothing more.

import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";

export interface SilentProxy {
  /** What names it, and its port. */
  readonly environment: { readonly HTTPS_PROXY: string };
  /** How many connections it has taken so far, and how many of them stand. */
  readonly taken: () => number;
  readonly standing: () => number;
  readonly close: () => void;
}

export const startSilentProxy = async (answer: "none" | "yes"): Promise<SilentProxy> => {
  const sockets = new Set<Socket>();
  let taken = 0;
  const server = createServer((socket) => {
    taken += 1;
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
    socket.once("data", () => {
      if (answer === "yes") socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    environment: { HTTPS_PROXY: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    taken: () => taken,
    standing: () => sockets.size,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};
