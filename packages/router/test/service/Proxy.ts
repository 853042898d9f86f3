// A TCP proxy in front of a Router: an address that stays while Routers come and go, and a cable that a test can cut.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Proxy {
  readonly url: string;
  /** Where new connections go from now on. */
  readonly aim: (routerUrl: string) => void;
  /** Destroys every connection, in the middle of whatever it carries. */
  readonly cut: () => void;
  readonly close: () => Promise<void>;
}

export const startProxy = async (routerUrl = ""): Promise<Proxy> => {
  let target = routerUrl;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((near) => {
    keep(near);
    if (target === "") {
      near.destroy();
      return;
    }
    const far = keep(connect(Number(new URL(target).port), "127.0.0.1"));
    near.pipe(far).pipe(near);
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    aim: (next) => {
      target = next;
    },
    cut,
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
