// A name server for tests: answers A and AAAA queries over UDP on loopback with what it is told, and counts them.

import { createSocket, type RemoteInfo } from "node:dgram";
import { once } from "node:events";
import * as IpAddress from "../../src/callbacks/IpAddress.ts";

/** Addresses; a failure code of DNS (2 SERVFAIL, 3 NXDOMAIN); or silence. */
export type Answer = ReadonlyArray<string> | number | "silence";

export interface NameServer {
  /** As a resolver takes it. */
  readonly address: string;
  /** Names asked for, each with its type. */
  readonly queries: ReadonlyArray<string>;
  readonly close: () => void;
}

const types: Readonly<Record<number, "A" | "AAAA">> = { 1: "A", 28: "AAAA" };

/** The labels of the one question, and where it ends. */
const questionOf = (query: Buffer): { readonly name: string; readonly end: number } => {
  const labels: Array<string> = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 5 };
};

const record = (type: number, address: Uint8Array): Buffer => {
  const head = Buffer.alloc(12);
  // A pointer to the question's name; type, class, time to live, length.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(address.length, 10);
  return Buffer.concat([head, address]);
};

export const startNameServer = async (
  answerOf: (name: string, type: "A" | "AAAA") => Answer,
): Promise<NameServer> => {
  const queries: Array<string> = [];
  const socket = createSocket("udp4");
  socket.on("message", (query: Buffer, { port, address }: RemoteInfo) => {
    const { name, end } = questionOf(query);
    const code = query.readUInt16BE(end - 4);
    const type = types[code];
    if (type === undefined) return;
    queries.push(`${name} ${type}`);
    const answer = answerOf(name, type);
    if (answer === "silence") return;
    const records =
      typeof answer === "number"
        ? []
        : answer.map((text) => record(code, IpAddress.parse(text) ?? Buffer.alloc(0)));
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | (typeof answer === "number" ? answer : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { address: `127.0.0.1:${socket.address().port}`, queries, close: () => void socket.close() };
};
