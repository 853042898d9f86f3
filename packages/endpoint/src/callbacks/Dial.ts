// A TCP connection to a checked destination and to nothing else. The name is not looked up a second time, and the address
// at the other end is checked once more before a byte is sent. Implements ING-65 and ING-66.

import { connect as tcpConnect, isIPv6, type Socket } from "node:net";
import type { AddressPolicy } from "./AddressPolicy.ts";
import { CallbackFailure } from "./CallbackFailure.ts";
import type { Destination } from "./Destination.ts";
import * as IpAddress from "./IpAddress.ts";
import * as Limits from "./Limits.ts";

/** Begins to connect to the first of the destination's addresses that takes a connection. */
export type Connect = (destination: Destination) => Socket;

export const systemConnect: Connect = ({ hostname, port, addresses }) =>
  tcpConnect({
    host: hostname,
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: Limits.attemptMsMax,
    // Never asked for a literal, which is its own and only address.
    lookup: (_name, options, answer) => {
      const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
      const [first] = found;
      if (options.all === true || first === undefined) answer(null, found);
      else answer(null, first.address, first.family);
    },
  });

const isOneOf = (addresses: ReadonlyArray<string>, remote: IpAddress.IpAddress): boolean =>
  addresses.some((text) => {
    const address = IpAddress.parse(text);
    return address !== null && IpAddress.equals(address, remote);
  });

const isTimeout = (error: Error): boolean => "code" in error && error.code === "ETIMEDOUT";

/**
 * The open socket. Rejects with `CallbackFailure`; an abort ends the socket, before and after. Errors of the open socket
 * are for whoever it is handed to.
 */
export const dial = async (
  destination: Destination,
  connect: Connect,
  allows: AddressPolicy,
  signal: AbortSignal,
): Promise<Socket> => {
  // A name server may have answered after everybody had stopped waiting for it.
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect(destination);
  const stop = (): void => void socket.destroy();
  signal.addEventListener("abort", stop, { once: true });
  socket.once("close", () => {
    signal.removeEventListener("abort", stop);
    reject(new CallbackFailure("connection-lost"));
  });
  socket.on("error", (cause) =>
    reject(new CallbackFailure(isTimeout(cause) ? "timeout" : "connection-refused", { cause })),
  );
  socket.once("connect", () => {
    const remote = IpAddress.parse(socket.remoteAddress ?? "");
    if (remote !== null && allows(remote) && isOneOf(destination.addresses, remote)) return resolve(socket);
    reject(new CallbackFailure("address-refused"));
    socket.destroy();
  });
  return promise;
};
