// What a start would say of a store, found out by reading alone: beside the daemon that still writes it, or without one.
// A store of an older program is judged by its version only, because it is checked once it has been brought up.

import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import { boundCard } from "../operations/Registration.ts";
import type { Identity } from "../state/Identity.ts";
import * as Database from "./Database.ts";
import { check } from "./StartUpCheck.ts";
import { StoreError } from "./StoreError.ts";

/** Rejects with the `StoreError` that a start of the same program would reject with now. */
export const look = async (path: string, identity: Identity, trust: Trust): Promise<void> => {
  let db: Database.Database;
  try {
    db = Database.openSnapshot(path);
  } catch (error) {
    if (error instanceof StoreError && error.reason === "older-schema") return;
    throw error;
  }
  try {
    await check(db, trust, "since-checkpoint-unwritten");
    boundCard(db, identity);
  } finally {
    db.close();
  }
};
