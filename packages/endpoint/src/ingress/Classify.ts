// Turns certified remote posts into items, in the order of their commits, or consumes them. Works in the caller's
// transaction: the pending row goes in the same one that admits or consumes its post. Needs no subscriber, and decides
// nothing about what a host does with an item. Implements ING-02 to ING-07, ING-10 and ING-23.

import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { hashOfText } from "@social-harness/protocol/encoding/Hash";
import * as Address from "@social-harness/protocol/address/Address";
import type { MulticastItem } from "@social-harness/protocol/delivery/Item";
import type * as Content from "@social-harness/protocol/history/Content";
import * as Membership from "@social-harness/protocol/history/Membership";
import type * as Record from "@social-harness/protocol/history/Record";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { type AgentId, type ConversationId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import type { Database, Row } from "../store/Database.ts";
import * as Cards from "../transport/Cards.ts";
import * as CollectivePart from "./CollectivePart.ts";
import * as Inbox from "./Inbox.ts";

/** Takes over a classified item in the caller's transaction; says whether it came into the inbox. */
export type Admit = (db: Database, admission: Inbox.Admission, conversationId: ConversationId) => boolean;

export const admitAtOnce: Admit = (db, admission) => {
  Inbox.admit(db, admission);
  return true;
};

export interface ClassifyOptions {
  /** This endpoint's own agent. */
  readonly self: AgentId;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly random: Inbox.Random;
  /** Where an item goes; into the inbox unless told otherwise. */
  readonly admit?: Admit;
  /** The members of a conversation, by whoever has them at hand; read from the store unless told otherwise. */
  readonly namesOf?: (conversationId: ConversationId) => Names;
  /** Rows of one pass, so that a long absence does not make one endless transaction. */
  readonly rowsMax: number;
}

export interface Outcome {
  /** Items that came into the inbox. */
  readonly admitted: number;
  readonly consumed: ReadonlyArray<{
    readonly recordHash: RecordHash;
    readonly reason: CollectivePart.ConsumedReason;
  }>;
  /** Records that cannot be read. They stay pending, and nothing of their conversation passes them. */
  readonly unreadable: ReadonlyArray<{
    readonly recordHash: RecordHash;
    readonly conversationId: ConversationId;
  }>;
  /** Whether rows are left that another pass would try. */
  readonly hasMore: boolean;
}

/** The bounds are those of a stored record: 32 cards and content at its limit stay under them by far. */
const storedBounds = { bytesMax: 1_048_576, depthMax: Limits.jsonDepthMax };
const decodeMembership = Closed.bytesDecoder(Membership.schema, storedBounds);

const bytesOf = (text: unknown): Uint8Array => Buffer.from(text as string, "utf8");

/** The members of a conversation by their names. */
export type Names = ReadonlyMap<AgentId, AgentName>;

/** The cards of a conversation's members, which were verified before it was stored. Throws `DecodeError`. */
export const cardsOf = (db: Database, conversationId: ConversationId): ReadonlyArray<AgentCard> => {
  const row = db.get("SELECT membership FROM conversation WHERE conversation_id = ?", conversationId) as Row;
  return decodeMembership(bytesOf(row.membership)).members.map(Cards.ofText);
};

const nameOf = (names: Names, agentId: AgentId): AgentName => {
  const name = names.get(agentId);
  if (name === undefined) throw new DecodeError("schema", "a record names an agent that is no member");
  return name;
};

/** The item of a post as the member `self` sees it: addresses are relative to the one who reads them. */
export const itemOf = (
  intent: Record.PostIntent,
  content: Content.Content,
  names: Names,
  self: AgentId,
): MulticastItem => {
  const sender = Address.ofAgent(nameOf(names, intent.authorAgentId));
  const address = Address.ofMembers([...names.values()], nameOf(names, self));
  const { postId } = intent;
  if (names.size === 2) {
    const direct = address as Address.AgentAddress;
    return { kind: "multicast", message: { kind: "direct", postId, address: direct, sender, content } };
  }
  const group = address as Address.GroupAddress;
  const members = group
    .slice("group:".length)
    .split(",") as ReadonlyArray<string> as ReadonlyArray<AgentName>;
  return {
    kind: "multicast",
    message: {
      kind: "group",
      postId,
      address: group,
      sender,
      members: members.map(Address.ofAgent),
      content,
    },
  };
};

export const namesOf = (cards: ReadonlyArray<AgentCard>): Names =>
  new Map(cards.map(({ agentId, agentName }) => [agentId, agentName]));

type Pass = ClassifyOptions & Required<Pick<ClassifyOptions, "namesOf">>;

/** Decodes each conversation's membership once a pass. */
const membershipsOf = (db: Database): Pass["namesOf"] => {
  const known = new Map<ConversationId, Names>();
  return (conversationId) => {
    const names = known.get(conversationId) ?? namesOf(cardsOf(db, conversationId));
    known.set(conversationId, names);
    return names;
  };
};

/** The core of a record that was verified before it was stored: what has its hash is that. Throws `DecodeError`. */
const coreOf = (db: Database, recordHash: RecordHash): Record.RecordCore => {
  const text = String(db.get("SELECT core FROM record WHERE record_hash = ?", recordHash)?.["core"]);
  if (RecordHash.fromBytes(hashOfText("record", text)) !== recordHash)
    throw new DecodeError("schema", "a stored record does not have the hash it was stored under");
  return JSON.parse(text) as Record.RecordCore;
};

interface PendingRow {
  readonly sequence: number;
  readonly conversationId: ConversationId;
  readonly recordHash: RecordHash;
}

/** "admitted" where it came into the inbox, "queued" where somebody else took it over, or why it is consumed. */
type Classified = "admitted" | "queued" | CollectivePart.ConsumedReason;

const classify = (db: Database, { conversationId, recordHash }: PendingRow, pass: Pass): Classified => {
  const { postIntent } = coreOf(db, recordHash).action;
  if (postIntent.authorAgentId === pass.self) return "own-post";
  const content = CollectivePart.strip(postIntent.content);
  if (typeof content === "string") return content;
  const admission: Inbox.Admission = {
    item: itemOf(postIntent, content, pass.namesOf(conversationId), pass.self),
    conversationId,
    recordHash,
    now: pass.now,
    random: pass.random,
  };
  return (pass.admit ?? admitAtOnce)(db, admission, conversationId) ? "admitted" : "queued";
};

const listOf = (unreadable: ReadonlyMap<ConversationId, RecordHash>): Outcome["unreadable"] =>
  Array.from(unreadable, ([conversationId, recordHash]) => ({ conversationId, recordHash }));

const chunkRows = 64;

/** Pending rows in the order of their commits, read in chunks because rows go while the walk is under way. */
function* pendingRows(db: Database): Iterable<PendingRow> {
  for (let after = 0; ;) {
    const rows = db.all(
      "SELECT sequence, conversation_id, record_hash FROM pending WHERE sequence > ? ORDER BY sequence LIMIT ? + 0",
      after,
      chunkRows,
    );
    for (const row of rows) {
      after = row.sequence as number;
      yield {
        sequence: after,
        conversationId: row.conversation_id as ConversationId,
        recordHash: row.record_hash as RecordHash,
      };
    }
    if (rows.length < chunkRows) return;
  }
}

/** Classifies pending rows in the order of their commits, at most `rowsMax` of them. Call inside a transaction. */
export const classifyPending = (db: Database, options: ClassifyOptions): Outcome => {
  const pass: Pass = { namesOf: membershipsOf(db), ...options };
  const consumed: Array<Outcome["consumed"][number]> = [];
  const unreadable = new Map<ConversationId, RecordHash>();
  let admitted = 0;
  let queued = 0;
  for (const row of pendingRows(db)) {
    if (admitted + queued + consumed.length === options.rowsMax) {
      return { admitted, consumed, unreadable: listOf(unreadable), hasMore: true };
    }
    if (unreadable.has(row.conversationId)) continue;
    try {
      const classified = classify(db, row, pass);
      if (classified === "admitted") admitted += 1;
      else if (classified === "queued") queued += 1;
      else consumed.push({ recordHash: row.recordHash, reason: classified });
      db.run("DELETE FROM pending WHERE sequence = ?", row.sequence);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      unreadable.set(row.conversationId, row.recordHash);
    }
  }
  return { admitted, consumed, unreadable: listOf(unreadable), hasMore: false };
};
