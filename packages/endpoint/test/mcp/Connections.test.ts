import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import type { Caller } from "../../src/mcp/Caller.ts";
import * as Connections from "../../src/mcp/Connections.ts";

let ports = 0;
class FakeSocket extends EventEmitter {
  readonly remotePort = ++ports;
  destroyed = false;
  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    // As a real one does: later, not while it is being destroyed.
    queueMicrotask(() => this.emit("close"));
  }
}

const bench = () => {
  const connections = Connections.make({ strangersMax: 2, shareMax: 2 });
  return {
    open: (): FakeSocket => {
      const socket = new FakeSocket();
      connections.opened(socket as unknown as Socket);
      return socket;
    },
    /** Null when it was not admitted, else how its answer ends. */
    ask: (socket: FakeSocket, kind: Caller["kind"] = "owner"): (() => void) | null => {
      const response = new EventEmitter();
      const isAdmitted = connections.admit(
        socket as unknown as Socket,
        response as unknown as ServerResponse,
        kind,
      );
      return isAdmitted ? () => void response.emit("close") : null;
    },
  };
};
const standing = (...sockets: ReadonlyArray<FakeSocket>): ReadonlyArray<boolean> =>
  sockets.map(({ destroyed }) => !destroyed);

verifies(
  "MGT-75",
  "of too many strangers the one that came first goes, and none that was let through",
  () => {
    const { open, ask } = bench();
    const known = open();
    ask(known);
    const [a, b] = [open(), open()];
    expect(standing(known, a, b)).toEqual([true, true, true]);
    const c = open();
    expect(standing(known, a, b, c)).toEqual([true, false, true, true]);
    expect(ask(a)).toBeNull();
    expect(ask(b)).not.toBeNull();
    open();
    expect(standing(known, b, c)).toEqual([true, true, true]);
  },
);

verifies(
  "MGT-75",
  "each kind of caller has its own share, in which the longest idle makes room",
  async () => {
    const { open, ask } = bench();
    const a = open();
    const endA = ask(a, "owner");
    const b = open();
    const endB = ask(b, "owner");
    const c = open();
    // Both are in use.
    expect(ask(c, "owner")).toBeNull();
    expect(ask(c, "runtime")).not.toBeNull();
    endA?.();
    endB?.();
    // The one that answered last stays.
    ask(a, "owner")?.();
    const d = open();
    expect(ask(d, "owner")).not.toBeNull();
    expect(standing(a, b, c, d)).toEqual([true, false, true, true]);
    // Who leaves makes room.
    d.destroy();
    await Promise.resolve();
    expect(ask(open(), "owner")).not.toBeNull();
    expect(standing(a)).toEqual([true]);
  },
);

verifies("MGT-75", "a connection in use counts once, and with each answer until the last has ended", () => {
  const { open, ask } = bench();
  const [a, b] = [open(), open()];
  const ends = [ask(a), ask(a), ask(b)];
  ends[0]?.();
  const c = open();
  expect(ask(c)).toBeNull();
  ends[1]?.();
  expect(ask(c)).not.toBeNull();
  expect(standing(a, b, c)).toEqual([false, true, true]);
});

verifies(
  "MGT-144",
  "what makes room is the connection that was answered longest ago, not the first that asked",
  () => {
    const { open, ask } = bench();
    const [a, b] = [open(), open()];
    const [endA, endB] = [ask(a), ask(b)];
    endB?.();
    endA?.();
    expect(ask(open())).not.toBeNull();
    expect(standing(a, b)).toEqual([true, false]);
  },
);
