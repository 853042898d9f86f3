// A look at a store from outside, and nothing is written. Beside its daemon a quick one: whether it opens, whose it is, and
// whether the newest rows are what was stored. Without one, all that a start checks. Everything is FullCheck.ts's.

import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import { stateOf } from "../conversations/ConversationRows.ts";
import { boundCard } from "../operations/Registration.ts";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import type { Identity } from "../state/Identity.ts";
import * as Database from "./Database.ts";
import * as RecordRows from "./RecordRows.ts";
import { check } from "./StartUpCheck.ts";

/** As many as cost less than a moment, and more than an evening's talk. */
const rowsMax = 256;

export interface Sample {
  /** null before registration. */
  readonly card: AgentCard | null;
  readonly records: number;
  readonly conversations: number;
}

/** How many of the newest records and conversations are as they were stored. Throws `StoreError` where one is not. */
export const take = (path: string, identity: Identity): Sample => {
  const db = Database.openSnapshot(path);
  try {
    const card = boundCard(db, identity);
    const records = db.all(
      `SELECT ${RecordRows.columns} FROM record ORDER BY sequence DESC LIMIT ?`,
      rowsMax,
    );
    for (const row of records) RecordRows.decode(row);
    const conversations = db.all("SELECT * FROM conversation ORDER BY rowid DESC LIMIT ?", rowsMax);
    for (const row of conversations) stateOf(row);
    return { card, records: records.length, conversations: conversations.length };
  } catch (error) {
    throw Database.explained(error);
  } finally {
    db.close();
  }
};

/** What a start would check. Returns the bound card and the number of records. Rejects with `StoreError`. */
export const asAtStart = async (
  path: string,
  identity: Identity,
  trust: Trust,
): Promise<{ readonly card: AgentCard | null; readonly records: number }> => {
  const db = Database.openSnapshot(path);
  try {
    const { records } = await check(db, trust, { scope: "looking", release: db.release });
    return { card: boundCard(db, identity), records };
  } finally {
    db.close();
  }
};
