// A program that wants nobody else to be heard: run in a process of its own with a port and a way to be in the way, until
// it is killed. Says so on stdout once it is at it.

import { connect } from "node:net";
import process from "node:process";

const port = Number(process.argv[2]);
const head = `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n`;
const body = "x".repeat(1_000);

interface Way {
  /** What its connections say of themselves in turn, never more; null says nothing at all. */
  readonly lines: ReadonlyArray<string | null>;
  /** Held at a time. More than the endpoint keeps of strangers, where they are only held. */
  readonly connections: number;
}
const ways: Readonly<Record<string, Way>> = {
  silence: { lines: [null], connections: 1_000 },
  "half a head": { lines: [head], connections: 1_000 },
  "no token": { lines: [`${head}content-length: ${body.length}\r\n\r\n${body}`], connections: 300 },
  "wrong tokens": {
    lines: [
      `${head}authorization: Bearer ${"wrong".repeat(8)}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      `${head}authorization: Bearer ${"wrong".repeat(8)}\r\ncontent-length: 4000000\r\n\r\n`,
    ],
    connections: 300,
  },
  everything: {
    lines: [null, head, `${head}content-length: 4000000\r\nauthorization: Bearer wrong\r\n\r\n`],
    connections: 1_000,
  },
};
const { lines, connections } = ways[process.argv[3] ?? ""] as Way;

let opened = 0;
/** Opens one, and another one as soon as that is closed, whoever closed it. */
const open = (): void => {
  const line = lines[opened++ % lines.length];
  const socket = connect(port, "127.0.0.1", () => {
    if (line !== null && line !== undefined) socket.write(line);
  });
  socket.resume();
  socket.on("error", () => {});
  socket.on("close", () => setImmediate(open));
};
for (let i = 0; i < connections; i++) open();
setTimeout(() => process.stdout.write("flooding\n"), 300);
