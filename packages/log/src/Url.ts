// One URL chooses the engine: `sqlite:/path/to/file` or `memory:`. `nats:` names the clustered engine, which this build
// does not have.

import type { Log } from "./Log.ts";
import { LogError } from "./LogError.ts";
import { openMemoryLog } from "./MemoryLog.ts";
import { openSqliteLog } from "./SqliteLog.ts";

export type LogUrl = { readonly engine: "memory" } | { readonly engine: "sqlite"; readonly path: string };

/** Reads a log URL. A path is taken literally, without percent decoding. Throws `LogError`. */
export const parse = (url: string): LogUrl => {
  if (url === "memory:") return { engine: "memory" };
  if (url.startsWith("nats:")) {
    throw new LogError("unsupported", "this build has no nats engine; use sqlite:/path/to/file");
  }
  const path = url.startsWith("sqlite:") ? url.slice("sqlite:".length) : "";
  if (path === "" || path.includes("\0")) {
    throw new LogError("unsupported", "a log URL is sqlite:/path/to/file or memory:");
  }
  return { engine: "sqlite", path };
};

/** Opens the log that a URL names. Throws `LogError`. */
export const open = (url: string): Log => {
  const parsed = parse(url);
  return parsed.engine === "memory" ? openMemoryLog() : openSqliteLog(parsed.path);
};
