// A Router in a process of its own, for tests that kill it. Usage: node RouterMain.ts FILE PORT. Prints its URL and
// instance as one JSON line when it serves.

import { openSqliteLog } from "@social-harness/log/SqliteLog";
import { startRouter } from "../src/service/Router.ts";
import { clock, random, registry, routerSigner, silent } from "./Fixture.ts";

const [file, port] = process.argv.slice(2) as [string, string];
const log = openSqliteLog(file);
const router = await startRouter({
  log,
  signer: routerSigner,
  registryKey: registry.publicKey,
  listen: { host: "127.0.0.1", port: Number(port) },
  clock,
  random,
  logger: silent,
});
process.stdout.write(`${JSON.stringify({ url: router.url, routerInstanceId: router.routerInstanceId })}\n`);

process.once("SIGTERM", async () => {
  await router.close();
  await log.close();
});
