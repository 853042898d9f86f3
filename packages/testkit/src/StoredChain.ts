// A made chain in an endpoint's store, put there the way commits put it: for whoever reads history and needs more of it, or
// of more members, than a test has time to certify. Knows no network.

import * as ConversationRows from "@social-harness/endpoint/conversations/ConversationRows";
import * as AnchorRows from "@social-harness/endpoint/store/AnchorRows";
import type { Database } from "@social-harness/endpoint/store/Database";
import * as RecordRows from "@social-harness/endpoint/store/RecordRows";
import { initial } from "@social-harness/protocol/conversation/State";
import { bodyOf } from "@social-harness/protocol/history/Reanchor";
import type { Chain } from "./Chains.ts";

export interface StoredChain {
  readonly db: Database;
  readonly chain: Chain;
  /** Commits the next `count` records of the chain, fewer when it ends. */
  readonly append: (count: number) => void;
  /** How many are committed. */
  readonly height: () => number;
}

/** Begins the conversation of a chain in the store of its first member; nothing of it is certified yet. */
export const begin = (db: Database, chain: Chain): StoredChain => {
  const { actors, members, records } = chain;
  const [self] = actors;
  const [genesis] = records;
  if (self === undefined || genesis === undefined) throw new RangeError("a chain has members and a GENESIS");
  const { routerAnchor } = genesis;
  const { conversationId } = members;
  const { anchorHash } = genesis.recordCore;
  const { routerInstanceId, round } = bodyOf(routerAnchor);
  const created = db.transaction(() => {
    const conversation = ConversationRows.create(db, members, self.card.agentId);
    AnchorRows.insert(db, conversationId, anchorHash, routerAnchor);
    return conversation;
  });
  let height = 0;
  return {
    db,
    chain,
    height: () => height,
    append: (count) =>
      db.transaction(() => {
        const next = records.slice(height, height + count);
        const last = next.at(-1);
        if (last === undefined) return;
        for (const record of next) RecordRows.insert(db, record);
        height += next.length;
        const head = { height: height - 1, recordHash: last.recordHash, anchorHash };
        const anchor = { anchorHash, round, routerInstanceId, base: null, carried: null };
        ConversationRows.save(db, { ...created, state: { ...initial, anchor, head } });
      }),
  };
};
