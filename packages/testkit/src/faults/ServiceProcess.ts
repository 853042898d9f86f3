// A Registry or a Router in a process of its own, so that one of them can be killed while the other goes on. Usage:
// node ServiceProcess.ts registry|router FOLDER PORT. Both share the folder that `network start` uses for the two. Prints
// its URL and its key as one JSON line when it serves; ends at SIGTERM and when its parent is gone.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import * as NetworkKeys from "@social-harness/registry/NetworkKeys";
import { startRegistry } from "@social-harness/registry/service/RegistryServer";
import { startRouter } from "@social-harness/router/service/Router";

const [service, folder = "", port] = process.argv.slice(2);
const shared = {
  listen: { host: "127.0.0.1", port: Number(port) },
  clock: Date.now,
  random: (byteCount: number): Buffer => randomBytes(byteCount),
  logger: (level: string, event: string, fields: object = {}): void => {
    if (level === "warn" || level === "error")
      process.stderr.write(`${JSON.stringify({ level, event, ...fields })}\n`);
  },
};
const keys = NetworkKeys.loadOrCreate(join(folder, "network.json"), shared.random);
const log = openSqliteLog(join(folder, `${service}.sqlite`));
const registryKey = keys.registry.publicKey;

const start = () => {
  switch (service) {
    case "registry":
      return startRegistry({ ...shared, log, keys, admission: "open" });
    case "router":
      return startRouter({ ...shared, log, signer: keys.router, registryKey });
    default:
      throw new RangeError("the service is registry or router");
  }
};

const running = await start();
const key = service === "registry" ? registryKey : keys.router.publicKey;
process.stdout.write(`${JSON.stringify({ url: running.url, key })}\n`);

let stopping: Promise<void> | null = null;
const stop = (): void => {
  stopping ??= running
    .close()
    .then(() => log.close())
    .then(() => {
      if (process.connected) process.disconnect();
    });
};
process.once("SIGTERM", stop);
process.once("disconnect", stop);
