// The proxy of a company, as a program: CONNECT alone, to whatever names only it can look up, all of which are this machine.
// Prints "ready", then every target that it was asked for. Arguments: its address and port, and whether it refuses.

import { createServer } from "node:http";
import { connect } from "node:net";
import process from "node:process";

const [host = "", port = "", manner = ""] = process.argv.slice(2);

const proxy = createServer((request, response) => {
  process.stdout.write(`${request.method} ${request.url}\n`);
  response.writeHead(405).end();
});

proxy.on("connect", (request, client) => {
  process.stdout.write(`CONNECT ${request.url}\n`);
  client.on("error", () => client.destroy());
  if (manner === "refuses") {
    client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    return;
  }
  const server = connect(Number(request.url?.split(":").at(-1)), host);
  server.on("connect", () => {
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    server.pipe(client).pipe(server);
  });
  server.on("error", () => client.destroy());
  server.on("close", () => client.destroy());
  client.on("close", () => server.destroy());
});

proxy.listen(Number(port), host, () => process.stdout.write('"ready"\n'));
