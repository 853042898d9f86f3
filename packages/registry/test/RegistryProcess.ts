// A Registry as a process of its own, for tests that kill it. Arguments: the log's file, the key file, the admission mode,
// the port. Prints its URL when it listens.

import { randomBytes } from "node:crypto";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import { loadOrCreate } from "@social-harness/registry/NetworkKeys";
import { startRegistry } from "@social-harness/registry/service/RegistryServer";

const [logPath = "", keysPath = "", admission = "", port = "0"] = process.argv.slice(2);
const running = await startRegistry({
  log: openSqliteLog(logPath),
  keys: loadOrCreate(keysPath, randomBytes),
  admission: admission === "open" ? "open" : "invite",
  listen: { host: "127.0.0.1", port: Number(port) },
  clock: Date.now,
  random: randomBytes,
  logger: () => {},
});
process.stdout.write(`${running.url}\n`);
