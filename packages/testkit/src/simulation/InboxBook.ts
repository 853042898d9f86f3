// What one member's inbox must be, in words that the endpoint's code does not share: a list of items that only grows, in
// which some are acknowledged. Made from what was committed, and compared with rows, pages and counts.
// The clauses are ING-01 to ING-12 and ING-20 to ING-29.

import { isDeepStrictEqual } from "node:util";
import type { Database } from "@social-harness/endpoint/store/Database";
import type { Delivery, InboxPage } from "@social-harness/endpoint/operations/Operations";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import type { RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { Contents, Consumed } from "./Contents.ts";
import type { Remark } from "./EndpointStore.ts";
import type { Committed, Member, World } from "./FoldWorld.ts";
import { violate } from "./Violation.ts";

/** One item, from its admission on. */
export interface Entry {
  readonly token: string;
  /** The canonical text that was first seen under the token. */
  readonly text: string;
  /** Null for what the endpoint tells its own host. */
  readonly recordHash: RecordHash | null;
  readonly isAcknowledged: boolean;
}

/** A value: the copy that goes with a copy of a store costs nothing. */
export type Book = ReadonlyArray<Entry>;

/** Where a traversal stands and what belongs to it, as places in the book. */
export interface Place {
  readonly after: number;
  readonly through: number;
}

/** What a turn must bring to an inbox. */
interface Due {
  readonly recordHash: RecordHash | null;
  readonly item: object;
}

const pageItems = 50;

const isUnread = ({ isAcknowledged }: Entry): boolean => !isAcknowledged;

/** The item without the words that explain a failure: they are for people. */
const essenceOf = (text: string): unknown => {
  const item = JSON.parse(text) as { readonly error?: { readonly reason: string } };
  return item.error === undefined ? item : { ...item, error: item.error.reason };
};

export interface InboxOracle {
  /** Asks for what a committed turn must have brought, and writes it down. */
  readonly take: (book: Book, db: Database, turn: Committed, remarks: ReadonlyArray<Remark>) => Book;
  /** Asks for a page at a place, and says where the next one begins. */
  readonly askPage: (member: Member, book: Book, place: Place, page: InboxPage) => Place | null;
  /** Asks that the items are those of the whole chain, and that counts agree. */
  readonly askWhole: (member: Member, book: Book, db: Database, unread: number) => void;
}

/** `prior`: records that stood on the disks from the start and never became pending. */
export const createInboxOracle = (
  { members }: World,
  contents: Contents,
  prior: ReadonlySet<RecordHash>,
): InboxOracle => {
  /** Every token that was ever minted, in whatever life of whatever member, with what it was minted for. */
  const minted = new Map<string, string>();
  const names = members.cards.map(({ agentName }) => agentName as string).sort();
  const nameOf = (agentId: string): string =>
    members.cards.find((card) => card.agentId === agentId)?.agentName ?? "nobody";
  const everybody = `group:${names.join(",")}`;
  const addressFor = (id: string): string =>
    names.length > 2 ? everybody : `agent:${names.find((name) => name !== nameOf(id))}`;

  const leftOf = ({ recordCore }: HistoryRecord) => contents.leftOf(recordCore.action.postIntent.content);
  const isConsumed = (left: ReturnType<typeof leftOf>): left is Consumed => typeof left === "string";

  const isRemote = (member: Member, { recordHash, recordCore }: HistoryRecord): boolean =>
    recordCore.action.authorAgentId !== member.id && !prior.has(recordHash);

  const itemOf = ({ id }: Member, record: HistoryRecord): object => {
    const { authorAgentId, postIntent } = record.recordCore.action;
    const kind = names.length > 2 ? "group" : "direct";
    const message = {
      kind,
      postId: postIntent.postId,
      address: addressFor(id),
      sender: `agent:${nameOf(authorAgentId)}`,
      content: leftOf(record),
    };
    const others = names.map((name) => `agent:${name}`);
    return { kind: "multicast", message: kind === "group" ? { ...message, members: others } : message };
  };

  /** First the failures that a turn tells of, then the posts that it certified, in chain order. */
  const dueOf = ({ member, before, after, commands }: Committed): ReadonlyArray<Due> => {
    const failures = commands.flatMap((command): ReadonlyArray<Due> => {
      if (command.kind !== "intent-ended" || command.outcome === "certified") return [];
      const { postId, outcome } = command;
      const item = { kind: "operationFailed", postId, to: addressFor(member.id), error: outcome };
      return [{ recordHash: null, item }];
    });
    const posts = after.records
      .slice(before.records.length)
      .filter((record) => isRemote(member, record) && !isConsumed(leftOf(record)))
      .map((record) => ({ recordHash: record.recordHash, item: itemOf(member, record) }));
    return [...failures, ...posts];
  };

  /** A post that no host hears of is named in the log with its reason, and nothing else is. */
  const askRemarks = (turn: Committed, remarks: ReadonlyArray<Remark>): void => {
    const { member, before, after } = turn;
    const defect = remarks.find(({ level }) => level === "error");
    if (defect !== undefined) violate("inbox", `member ${member.index}: ${defect.event}: ${defect.reason}`);
    const expected = after.records.slice(before.records.length).flatMap((record) => {
      const left = leftOf(record);
      return isRemote(member, record) && isConsumed(left) ? [`${record.recordHash} ${left}`] : [];
    });
    const said = remarks.map(({ recordHash, reason }) => `${recordHash} ${reason}`);
    if (!isDeepStrictEqual(said, expected))
      violate("inbox", `member ${member.index} consumed other posts than those that no host may read`);
  };

  const entryOf = (member: Member, row: ReturnType<Database["all"]>[number], due: Due): Entry => {
    const { delivery_token: token, item: text, record_hash: recordHash, acknowledged_at: at } = row;
    const isDue = recordHash === due.recordHash && isDeepStrictEqual(essenceOf(String(text)), due.item);
    if (!isDue) violate("inbox", `member ${member.index} admitted another item than was due`);
    if (at !== null) violate("inbox", `member ${member.index} admitted an item as acknowledged`);
    if (minted.has(String(token)))
      violate("token", `member ${member.index} minted a token for the second time`);
    minted.set(String(token), String(text));
    return { token: String(token), text: String(text), recordHash: due.recordHash, isAcknowledged: false };
  };

  const take: InboxOracle["take"] = (book, db, turn, remarks) => {
    const { member } = turn;
    askRemarks(turn, remarks);
    const due = dueOf(turn);
    const rows = db.all("SELECT * FROM inbox ORDER BY sequence LIMIT -1 OFFSET ?", book.length);
    if (rows.length !== due.length)
      violate("inbox", `member ${member.index} has ${rows.length} new items where ${due.length} were due`);
    if (db.get("SELECT 1 FROM pending LIMIT 1") !== undefined)
      violate("inbox", `member ${member.index} has a pending row after classification`);
    return [...book, ...due.map((one, i) => entryOf(member, rows[i] as (typeof rows)[number], one))];
  };

  const askDelivery = (member: Member, delivery: Delivery, entry: Entry | undefined): void => {
    const text = CanonicalJson.encode(delivery.item as CanonicalJson.Json);
    const first = minted.get(delivery.deliveryToken);
    if (first === undefined) violate("token", `member ${member.index} shows a token that was never minted`);
    if (first !== text) violate("token", `member ${member.index} shows another payload under a token`);
    if (delivery.deliveryToken !== entry?.token)
      violate(
        "page",
        `member ${member.index} shows an item out of its place, again, or after its acknowledgment`,
      );
  };

  const askPage: InboxOracle["askPage"] = (member, book, { after, through }, { items, nextCursor }) => {
    const left = book.slice(after, through).filter(isUnread);
    const shown = left.slice(0, pageItems);
    for (const [i, delivery] of items.entries()) askDelivery(member, delivery, shown[i]);
    if (items.length !== shown.length)
      violate("page", `member ${member.index} shows ${items.length} items of a page of ${shown.length}`);
    if ((nextCursor !== undefined) !== left.length > shown.length)
      violate("page", `member ${member.index} ends a traversal too early, or too late`);
    const last = shown.at(-1);
    return nextCursor === undefined || last === undefined ? null : { after: book.indexOf(last) + 1, through };
  };

  const askWhole: InboxOracle["askWhole"] = (member, book, db, unread) => {
    const expected = member.disk.records
      .filter((record) => isRemote(member, record) && !isConsumed(leftOf(record)))
      .map(({ recordHash }) => recordHash);
    const rows = db.all("SELECT * FROM inbox ORDER BY sequence");
    const posts = rows.flatMap(({ record_hash: recordHash }) => (recordHash === null ? [] : [recordHash]));
    if (!isDeepStrictEqual(posts, expected))
      violate("inbox", `member ${member.index} has other items than the remote posts of its chain, in order`);
    const isKept = rows.every(
      ({ delivery_token: token, item, acknowledged_at: at }, i) =>
        token === book[i]?.token && item === book[i]?.text && (at !== null) === book[i]?.isAcknowledged,
    );
    if (rows.length !== book.length || !isKept)
      violate("inbox", `member ${member.index} lost an item, changed one, or forgot an acknowledgment`);
    const left = book.filter(isUnread).length;
    if (unread !== left) violate("inbox", `member ${member.index} counts ${unread} unread items of ${left}`);
  };

  return { take, askPage, askWhole };
};
