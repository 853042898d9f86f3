// The sockets of an agent that reaches a host through a proxy. Such an agent knows of a socket only once the proxy has led on,
// and ends none that still waits for that: here they are known from the first. Opens none and waits for none.

export interface DialledSocket {
  readonly destroy: (error?: Error) => unknown;
  readonly once: (event: "close", listener: () => void) => unknown;
}

/** The part of an HTTP agent that makes its sockets. */
export interface Dialler<Words extends ReadonlyArray<never>, Socket extends DialledSocket> {
  createConnection: (...words: Words) => Socket | null | undefined;
}

/** Ends every socket that the agent has made since, wherever it has come to; who waits for one is told of the error. */
export type EndAll = (error?: Error) => void;

export const watch = <Words extends ReadonlyArray<never>, Socket extends DialledSocket>(
  agent: Dialler<Words, Socket>,
): EndAll => {
  const sockets = new Set<Socket>();
  const dial = agent.createConnection.bind(agent);
  agent.createConnection = (...words) => {
    const socket = dial(...words);
    if (socket === null || socket === undefined) return socket;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    return socket;
  };
  return (error) => {
    for (const socket of sockets) socket.destroy(error);
  };
};
