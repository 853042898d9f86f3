// Another program that holds a database locked, as a shell or a backup tool does. Usage: node LockHolder.ts FILE MS. Says
// `{"held":true}` when it has the lock, and ends after that time.

import { DatabaseSync } from "node:sqlite";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const [path = "", heldMs = "0"] = process.argv.slice(2);
const database = new DatabaseSync(path, { timeout: 60_000 });
database.exec("BEGIN EXCLUSIVE");
process.stdout.write('{"held":true}\n');
await sleep(Number(heldMs));
database.exec("ROLLBACK");
database.close();
if (process.connected) process.disconnect();
