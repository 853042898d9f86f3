// A network on loopback of its machine, with nginx in front that has the certificate: what an operator sets up who has a
// web server already. The endpoint on the other machine knows the public URL alone.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished, type TestContext } from "vitest";
import * as Machines from "./Machines.ts";
import * as Pair from "./Pair.ts";

const configuration = (files: Pair.Files): string => `
daemon off;
master_process off;
pid ${files.root}/nginx.pid;
error_log ${files.root}/nginx.log;
events {}
http {
  access_log off;
  client_body_temp_path ${files.root}/body;
  proxy_temp_path ${files.root}/proxy;
  fastcgi_temp_path ${files.root}/fastcgi;
  uwsgi_temp_path ${files.root}/uwsgi;
  scgi_temp_path ${files.root}/scgi;
  server {
    listen ${Machines.hostAddress}:443 ssl;
    ssl_certificate ${files.cert};
    ssl_certificate_key ${files.key};
    proxy_http_version 1.1;
    location /router {
      proxy_pass http://127.0.0.1:7401;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection "upgrade";
    }
    location / {
      proxy_pass http://127.0.0.1:7400;
      proxy_set_header Connection "";
    }
  }
}
`;

/** Debian keeps it where users' paths do not look. */
const find = (): string | undefined =>
  [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"]
    .map((folder) => join(folder, "nginx"))
    .find((path) => existsSync(path));

/** Runs nginx on the host's machine until the test is over. */
const serveProxy = (context: TestContext, machine: string, files: Pair.Files): void => {
  const binary = find();
  if (binary === undefined) context.skip("nginx is not installed");
  const file = join(files.root, "nginx.conf");
  writeFileSync(file, configuration(files));
  const words = ["netns", "exec", machine, binary as string, "-p", files.root, "-c", file];
  const proxy = spawn("ip", [...words, "-e", `${files.root}/nginx.log`], { stdio: "ignore" });
  const ended = once(proxy, "exit");
  onTestFinished(async () => {
    proxy.kill("SIGKILL");
    await ended;
  });
};

verifies(
  ["RUN-226", "RUN-227"],
  "posts go both ways through a proxy with TLS, and go on by themselves after the line was cut",
  async (context) => {
    const machines = await Machines.make(context, { delayMs: 80, loss: 0.05 });
    onTestFinished(machines.close);
    const files = Pair.writeFiles();
    serveProxy(context, machines.host, files);
    const network = ["--listen", "127.0.0.1:7400", "--public-url", `https://${Machines.hostAddress}`];
    const pair = await Pair.start({ machines, files, network });
    expect(await pair.post("ada", "a1")).toBe("certified");
    expect(await pair.post("bob", "b1")).toBe("certified");

    machines.unplug();
    const meanwhile = [pair.post("ada", "a2"), pair.post("bob", "b2")];
    await sleep(Pair.outageMs);
    machines.plug();
    await Promise.all(meanwhile);
    await pair.told("ada", ["b1", "b2"]);
    await pair.told("bob", ["a1", "a2"]);
    expect(await pair.oneHistory()).toHaveLength(4);
    await pair.stop();
  },
  300_000,
);
