// Whether a Router answers at an address, and which: its challenge is awaited and the connection ended, so nothing is said to
// it and no other connection is disturbed. For whoever examines the way. Implements RUN-272.

import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import type { RawData } from "ws";
import * as Frames from "../wire/Frames.ts";
import { type Address, HandshakeError, open, silence } from "./Handshake.ts";

export type Sight =
  | { readonly kind: "router" }
  | { readonly kind: "wrong-router-key" }
  /** It is a Router, and lets nobody in now. */
  | { readonly kind: "refused"; readonly reason: Frames.RefusedReason }
  /** `cause` is a `HandshakeError`, or what the system or TLS threw. */
  | { readonly kind: "none"; readonly cause: Error };

const sightOf = (data: RawData, isBinary: boolean, routerKey: SigningKey): Sight => {
  try {
    const frame = Frames.decodeServerFrame(isBinary ? "" : (data as Buffer).toString("utf8"));
    if (frame.kind === "refused") return { kind: "refused", reason: frame.reason };
    if (frame.kind === "challenge")
      return { kind: frame.routerKey === routerKey ? "router" : "wrong-router-key" };
  } catch {
    // Told below: no Router begins like this.
  }
  return { kind: "none", cause: new HandshakeError(null) };
};

export interface LookOptions extends Address {
  /** The pinned key. */
  readonly routerKey: SigningKey;
  readonly deadlineMs: number;
}

export const look = (options: LookOptions): Promise<Sight> =>
  new Promise((resolve) => {
    const { routerKey, deadlineMs } = options;
    const end = (sight: Sight): void => {
      clearTimeout(timer);
      resolve(sight);
      socket.terminate();
      cut();
    };
    const timer = setTimeout(() => end({ kind: "none", cause: silence() }), deadlineMs);
    const { socket, cut } = open(options, deadlineMs, (cause) => end({ kind: "none", cause }));
    socket.once("message", (data, isBinary) => end(sightOf(data, isBinary, routerKey)));
    socket.once("close", () => end({ kind: "none", cause: new HandshakeError(null) }));
  });
