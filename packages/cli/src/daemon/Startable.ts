// What would keep a daemon from starting on a folder, as far as it can be seen without starting one: told to whoever has one
// started by others, where nobody would look for it. Reads alone; what passes by itself, a full disk say, is not its business.

import { existsSync, statSync } from "node:fs";
import { createServer } from "node:net";
import * as TestCallbacks from "@social-harness/endpoint/callbacks/TestCallbacks";
import * as Registration from "@social-harness/endpoint/operations/Registration";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as Identity from "@social-harness/endpoint/state/Identity";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import * as Tokens from "@social-harness/endpoint/state/Tokens";
import * as Database from "@social-harness/endpoint/store/Database";
import { StoreError } from "@social-harness/endpoint/store/StoreError";
import { failed } from "../Failure.ts";
import { joinFirst } from "./Profile.ts";

/** Of a store that is there: its schema, its pages and whose it is. Its signatures are left to the start. */
const demandStore = (path: string, identity: Identity.Identity): void => {
  if (!existsSync(path) || statSync(path).size === 0) return;
  try {
    const db = Database.openSnapshot(path);
    try {
      const problem = db.get("PRAGMA integrity_check(1)")?.["integrity_check"];
      if (problem !== "ok") {
        throw new StoreError(
          "corrupt",
          `the store is damaged (${problem}): restore it from a backup, nothing has been changed or deleted`,
        );
      }
      Registration.boundCard(db, identity);
    } finally {
      db.close();
    }
  } catch (error) {
    const explained = Database.explained(error);
    // A start brings that one up.
    if (!(explained instanceof StoreError && explained.reason === "older-schema")) throw explained;
  }
};

/** Throws what a start would refuse; nothing of the environment or of flags counts. */
export const demandStartable = (folder: StateFolder): Configuration.Configuration => {
  if (!existsSync(folder.path)) throw failed("no-folder", `there is no folder ${folder.path}`, joinFirst);
  const identity = Identity.load(folder);
  if (identity === null) throw failed("no-keys", `${folder.path} has no keys yet`, joinFirst);
  const configuration = Configuration.load(folder, {});
  Tokens.demandUsable(folder, configuration.mode);
  TestCallbacks.read(folder, false);
  demandStore(folder.database, identity);
  return configuration;
};

/** Rejects when another program has the port. */
export const demandFreePort = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") return resolve();
      reject(
        failed(
          "cannot-listen",
          `port ${port} is used by another program`,
          'Give this endpoint another one, "port" in config.json of its folder: 0 takes any.',
          error,
        ),
      );
    });
    server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve()));
  });
