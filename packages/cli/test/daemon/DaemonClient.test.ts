// What the command line makes of a daemon that answers, but not its question.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { connect } from "../../src/daemon/DaemonClient.ts";

verifies("MGT-144", "a daemon without a connection to spare is busy, not gone", async () => {
  const server = createServer((_, outgoing) => void outgoing.writeHead(503).end("{}"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  await expect(connect(url)).rejects.toMatchObject({ exitCode: 3, reason: "daemon-busy" });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await expect(connect(url)).rejects.toMatchObject({ exitCode: 3, reason: "daemon-unreachable" });
});
