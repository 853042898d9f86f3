import { expect } from "vitest";
import { initial } from "@social-harness/protocol/conversation/State";
import * as Chains from "@social-harness/testkit/Chains";
import { verifies } from "@social-harness/testkit/Verifies";
import * as ConversationRows from "../../src/conversations/ConversationRows.ts";
import * as AnchorRows from "../../src/store/AnchorRows.ts";
import type * as Database from "../../src/store/Database.ts";
import * as RecordRows from "../../src/store/RecordRows.ts";
import * as Settings from "../../src/store/Settings.ts";
import { check } from "../../src/store/StartUpCheck.ts";
import { alter, temporaryPath, temporaryStore } from "./TemporaryStore.ts";

/** What this process has computed so far: on a busy machine the clock on the wall says nothing about a program. */
const processorMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

const conversations = 20;
const recordsEach = 50;

/** Certified direct conversations of one agent, written the way commits write them. */
const fill = (db: Database.Database): void => {
  for (let i = 0; i < conversations; i++) {
    const peer = `peer-${String(i).padStart(2, "0")}`;
    const posts = Array.from({ length: recordsEach }, (_, height) => ({
      author: height % 2 === 0 ? "ann" : peer,
      text: `post ${height}`,
    }));
    const { actors, members, records } = Chains.chain(["ann", peer], posts);
    const self = actors[0]?.card.agentId;
    const last = records.at(-1);
    if (self === undefined || last === undefined) throw new Error("an empty chain");
    db.transaction(() => {
      const conversation = ConversationRows.create(db, members, self);
      AnchorRows.insert(db, members.conversationId, last.recordCore.anchorHash, last.routerAnchor);
      for (const record of records) RecordRows.insert(db, record);
      const { recordHash, recordCore } = last;
      const head = { height: recordsEach - 1, recordHash, anchorHash: recordCore.anchorHash };
      ConversationRows.save(db, { ...conversation, state: { ...initial, head } });
    });
  }
};

verifies(
  ["HIS-63", "HIS-64", "RUN-28"],
  "a store of 1,000 records in direct conversations is checked in a moment, the second time without their signatures",
  async () => {
    const path = temporaryPath();
    const db = temporaryStore(path);
    fill(db);
    const from = processorMs();
    expect(await check(db, Chains.trust)).toEqual({ records: 1_000, verified: 1_000 });
    const again = processorMs();
    expect(await check(db, Chains.trust)).toEqual({ records: 1_000, verified: 0 });
    const done = processorMs();
    expect(again - from).toBeLessThan(5_000);
    expect(done - again).toBeLessThan(1_000);
    expect(Settings.integer(db, "verified_sequence")).toBe(1_000);
  },
);

verifies(["HIS-63", "HIS-64"], "only what was committed since the checkpoint is verified", async () => {
  const path = temporaryPath();
  const db = temporaryStore(path);
  fill(db);
  db.transaction(() => Settings.put(db, "verified_sequence", 975));
  expect(await check(db, Chains.trust)).toEqual({ records: 1_000, verified: 25 });
  const other = temporaryPath();
  db.run(`VACUUM INTO '${other}'`);
  alter(other, (sqlite) => sqlite.exec("UPDATE record SET evidence_digest = 'x' WHERE sequence = 3"));
  await expect(check(temporaryStore(other), Chains.trust)).rejects.toThrow("height 2 of conversation");
});
