// An operator's command as a process of its own. Arguments: the log's file, the key file, then `create USES`, `list` or
// `revoke ID`. Prints one JSON value.

import { randomBytes } from "node:crypto";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import type { InviteId } from "@social-harness/registry/Admission";
import { makeInvites } from "@social-harness/registry/Invites";
import { load } from "@social-harness/registry/NetworkKeys";

const [logPath = "", keysPath = "", command = "", argument = ""] = process.argv.slice(2);
const log = openSqliteLog(logPath);
const registryKey = load(keysPath).registry.publicKey;
const invites = makeInvites({ log, registryKey, clock: Date.now, random: randomBytes });
const run = {
  create: () => invites.create(Number(argument)),
  list: () => invites.list(),
  revoke: () => invites.revoke(argument as InviteId),
}[command];
process.stdout.write(JSON.stringify(await run?.()));
await log.close();
