// A process that appends to a sqlite log as fast as it can until it is killed. It prints a line for each append only
// after the append resolved. Arguments: the file, and the number of this writer.

import { openSqliteLog } from "@social-harness/log/SqliteLog";

const [path = "", writer = ""] = process.argv.slice(2);
const log = openSqliteLog(path);
const filler = "x".repeat(2_000);

const appendForEver = async (worker: number): Promise<void> => {
  for (let i = 0; ; i++) {
    const id = `${writer}-${worker}-${i}`;
    const result = await log.append("load", Buffer.from(`${id} ${filler} ${id}`), { dedupeId: id });
    if (result.kind === "appended") process.stdout.write(`${result.position} ${id}\n`);
  }
};

await Promise.all(Array.from({ length: 16 }, (_, worker) => appendForEver(worker)));
