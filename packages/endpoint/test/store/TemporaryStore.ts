// A store in a folder of its own that goes with the test, and a hand on its file from outside the program.

import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import * as Database from "../../src/store/Database.ts";

export const temporaryPath = (): string => join(temporaryFolder(), "endpoint.sqlite");

export const temporaryStore = (path = temporaryPath()): Database.Database => {
  const db = Database.open(path);
  onTestFinished(() => db.close());
  return db;
};

/** Runs SQL on a closed store as somebody else would, with every safeguard of the schema off. */
export const alter = (path: string, change: (sqlite: DatabaseSync) => void): void => {
  const sqlite = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  try {
    change(sqlite);
  } finally {
    sqlite.close();
  }
};
