// Own posts that have not ended, for their owner: what each waits for, as far as the conversation's state tells.
// Reads rows, decides nothing. Implements MGT-180.

import type { MessageAddress } from "@social-harness/protocol/address/Address";
import type { State } from "@social-harness/protocol/conversation/State";
import type { Membership } from "@social-harness/protocol/history/Membership";
import { actionThresholdOf } from "@social-harness/protocol/history/Quorum";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { AgentId, PostId } from "@social-harness/protocol/identity/Identifier";
import type { Database, Row } from "../store/Database.ts";

export interface PendingPost {
  readonly postId: PostId;
  readonly address: MessageAddress;
  /** Its owner has asked the members to let it go. */
  readonly withdrawing: boolean;
  /** Its conversation has forgotten what it signed, and says nothing yet. */
  readonly recovering: boolean;
  /** The members whose signature is still missing, as far as this one has heard; null while it is not proposed. */
  readonly unsigned: ReadonlyArray<AgentName> | null;
}

const pending = "FROM intent JOIN conversation USING (conversation_id) WHERE outcome IS NULL";

export const count = (db: Database): number =>
  Number(db.get("SELECT count(*) AS n FROM intent WHERE outcome IS NULL")?.["n"]);

/** How many of them are being withdrawn. */
export const countWithdrawing = (db: Database): number =>
  Number(
    db.get(
      `SELECT count(*) AS n ${pending} AND EXISTS (
         SELECT 1 FROM json_each(state, '$.withdrawing') WHERE json_extract(json_each.value, '$.postId') = post_id)`,
    )?.["n"],
  );

/** Where they go, in byte order. */
export const addresses = (db: Database, countMax: number): ReadonlyArray<MessageAddress> =>
  db
    .all(`SELECT DISTINCT address ${pending} ORDER BY address LIMIT ?`, countMax)
    .map((row) => row["address"] as MessageAddress);

/** Who has yet to vote for the latest own proposal of the post, or to store it where enough have voted. */
const unsignedOf = (
  state: State,
  cards: ReadonlyArray<AgentCard.AgentCard>,
  self: AgentId,
  postId: PostId,
): PendingPost["unsigned"] => {
  const record = state.open.findLast((open) => open.author === self && open.postId === postId);
  if (record === undefined) return null;
  const isAgreed = Object.keys(record.action).length >= actionThresholdOf(cards.length, record.height);
  const signed = isAgreed ? record.durability : record.action;
  return cards
    .filter(({ agentId }) => agentId !== self && !(agentId in signed))
    .map(({ agentName }) => agentName);
};

const cardsOf = (row: Row): ReadonlyArray<AgentCard.AgentCard> =>
  (JSON.parse(String(row["membership"])) as Membership).members.map(AgentCard.decode);

/** Some of them, the newest first. */
export const newest = (db: Database, self: AgentId, countMax: number): ReadonlyArray<PendingPost> => {
  const rows = db.all(
    `SELECT post_id, conversation_id, address,
            conversation_id IN (SELECT conversation_id FROM untold) AS is_untold
     ${pending} ORDER BY intent.sequence DESC LIMIT ?`,
    countMax,
  );
  // Posts of one conversation wait behind each other: its state is read once.
  const read = new Map<
    unknown,
    { readonly state: State; readonly cards: ReadonlyArray<AgentCard.AgentCard> }
  >();
  const conversationOf = (id: unknown) => {
    const known = read.get(id);
    if (known !== undefined) return known;
    const row = db.get(
      "SELECT state, membership FROM conversation WHERE conversation_id = ?",
      String(id),
    ) as Row;
    const conversation = { state: JSON.parse(String(row["state"])) as State, cards: cardsOf(row) };
    read.set(id, conversation);
    return conversation;
  };
  return rows.map((row) => {
    const postId = row["post_id"] as PostId;
    const { state, cards } = conversationOf(row["conversation_id"]);
    return {
      postId,
      address: row["address"] as MessageAddress,
      withdrawing: state.withdrawing.some((withdrawn) => withdrawn.postId === postId),
      recovering: row["is_untold"] === 1 || state.restored !== null,
      unsigned: unsignedOf(state, cards, self, postId),
    };
  });
};
