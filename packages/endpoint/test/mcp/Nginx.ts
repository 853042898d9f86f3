// A reverse proxy as people run it, in front of one endpoint, with its patience shortened. What it needs stands in a folder
// that goes with it.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { once } from "node:events";

/** Where its binary is, or null. Debian keeps it where users' paths do not look. */
export const find = (): string | null =>
  [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"]
    .map((folder) => join(folder, "nginx"))
    .find((path) => existsSync(path)) ?? null;

export interface Nginx {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

const freePort = async (): Promise<number> => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

/** Its defaults but for the one time: it buffers, and gives up on an upstream that is silent for `patienceSeconds`. */
const configuration = (folder: string, port: number, upstream: number, patienceSeconds: number): string => `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${upstream};
      proxy_http_version 1.1;
      proxy_set_header Host 127.0.0.1:${upstream};
      proxy_set_header Connection "";
      proxy_read_timeout ${patienceSeconds}s;
    }
  }
}
`;

const answers = async (port: number): Promise<boolean> => {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

export const start = async (binary: string, upstream: number, patienceSeconds: number): Promise<Nginx> => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-nginx-"));
  const port = await freePort();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configuration(folder, port, upstream, patienceSeconds));
  const log = join(folder, "error.log");
  const child: ChildProcess = spawn(binary, ["-p", folder, "-c", file, "-e", log], { stdio: "ignore" });
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; !(await answers(port)); tries++) {
    if (tries === 100 || child.exitCode !== null) {
      await stop();
      throw new Error("nginx did not begin to listen");
    }
    await setTimeout(50);
  }
  return { port, stop };
};
