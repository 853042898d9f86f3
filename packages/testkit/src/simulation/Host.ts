// The host of one member: reads pages, goes on from cursors old and new, acknowledges at random and more than once, and
// asks for what it must not get. What it is given is the oracle's to judge.

import * as Inbox from "@social-harness/endpoint/ingress/Inbox";
import { OperationError } from "@social-harness/endpoint/operations/OperationError";
import { type DeliveryToken, eventIdOf } from "@social-harness/protocol/identity/Identifier";
import type { EndpointStore } from "./EndpointStore.ts";
import type { Member } from "./FoldWorld.ts";
import type { Book, InboxOracle, Place } from "./InboxBook.ts";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { Random } from "./Random.ts";
import { violate } from "./Violation.ts";

/** A cursor that was handed out, and what it stands for. */
interface Mark {
  readonly cursor: string;
  readonly place: Place;
}

/** What one member's host has to do with. */
export interface Desk {
  readonly member: Member;
  store: EndpointStore;
  book: Book;
  /** Tokens that this host was shown in this life of the store. */
  seen: ReadonlyArray<string>;
  marks: ReadonlyArray<Mark>;
  /** Tokens of lives of the store that an older copy ended. */
  lost: ReadonlyArray<string>;
  /** How readily the host acknowledges what it was shown. */
  readonly zeal: number;
}

export interface HostOptions {
  readonly oracle: InboxOracle;
  readonly random: Random;
  readonly note: (line: string) => void;
  /** The desks of all honest members. */
  readonly desks: () => ReadonlyArray<Desk>;
}

/** Undoes an acknowledgment whose process dies before its commit. */
class AnswerLost extends Error {
  override readonly name = "AnswerLost";
}

const marksKept = 8;
/** How often what was acknowledged is acknowledged again. */
const again = 0.02;

/** What a host must be given: a refusal is a violation. */
const given = <A>({ member }: Desk, call: () => A): A => {
  try {
    return call();
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    return violate("host", `the host of member ${member.index} is refused what is its own: ${error.reason}`);
  }
};

export const createHost = ({ oracle, random, note, desks }: HostOptions) => {
  const turnPage = (desk: Desk, mark: Mark | null): Mark | null => {
    const { member, book, store } = desk;
    const place = mark?.place ?? { after: 0, through: book.length };
    const page = given(desk, () => Inbox.page(store.db, mark?.cursor));
    const next = oracle.askPage(member, book, place, page);
    note(
      `${member.index}'s host ${mark === null ? "reads" : "goes on and reads"} ${page.items.length} items of ${book.length}`,
    );
    desk.seen = [...new Set([...desk.seen, ...page.items.map(({ deliveryToken }) => deliveryToken)])];
    if (next === null || page.nextCursor === undefined) return null;
    const handed = { cursor: page.nextCursor, place: next };
    desk.marks = [...desk.marks, handed].slice(-marksKept);
    return handed;
  };

  const acknowledge = (desk: Desk, tokens: ReadonlyArray<string>, isLost: boolean): void => {
    const { db } = desk.store;
    try {
      db.transaction(() => {
        for (const token of tokens) given(desk, () => Inbox.acknowledge(db, token as DeliveryToken, 0));
        if (isLost) throw new AnswerLost();
      });
    } catch (error) {
      if (!(error instanceof AnswerLost)) throw error;
      return;
    }
    const acknowledged = new Set(tokens);
    desk.book = desk.book.map((entry) =>
      acknowledged.has(entry.token) ? { ...entry, isAcknowledged: true } : entry,
    );
  };

  /** Mostly what is unread; now and then a token that was acknowledged before. */
  const acknowledgeSome = (desk: Desk): void => {
    const unread = new Set(desk.book.flatMap(({ token, isAcknowledged }) => (isAcknowledged ? [] : [token])));
    const chosen = desk.seen.filter((token) => random.chance(unread.has(token) ? desk.zeal : again));
    if (chosen.length === 0) return;
    const isLost = random.chance(0.1);
    note(
      `${desk.member.index}'s host acknowledges ${chosen.length} items${isLost ? ", and the turn is lost" : ""}`,
    );
    acknowledge(desk, chosen, isLost);
  };

  const askRefused = (reason: OperationError["reason"], call: () => void): void => {
    try {
      call();
    } catch (error) {
      if (error instanceof OperationError && error.reason === reason) return;
      throw error;
    }
    violate("host", `a host is given what it must be refused as ${reason}`);
  };

  /** Tokens and cursors of others, and tokens of a life of the store that is over. */
  const tryForeign = (desk: Desk): void => {
    const other = random.pick(desks());
    const token = (other === desk ? desk.lost : other.seen).at(-1);
    if (token !== undefined)
      askRefused("unknown-delivery", () => Inbox.acknowledge(desk.store.db, token as DeliveryToken, 0));
    const mark = other.marks.at(-1);
    if (other !== desk && mark !== undefined)
      askRefused("invalid-continuation", () => Inbox.page(desk.store.db, mark.cursor));
  };

  /** What a token stands for, acknowledged or not. */
  const readAgain = (desk: Desk): void => {
    if (desk.seen.length === 0) return;
    const token = random.pick(desk.seen);
    const eventId = eventIdOf(token as DeliveryToken);
    const { item } = given(desk, () => Inbox.readEvent(desk.store.db, eventId));
    const text = CanonicalJson.encode(item as CanonicalJson.Json);
    if (text !== desk.book.find((entry) => entry.token === token)?.text)
      violate("token", `member ${desk.member.index} reads another payload under a token`);
  };

  return {
    /** One thing that a host does when it pleases. */
    act: (desk: Desk): void => {
      const choice = random.next();
      if (choice < 0.3) turnPage(desk, null);
      else if (choice < 0.6) {
        if (desk.marks.length > 0)
          turnPage(desk, random.chance(0.5) ? (desk.marks.at(-1) as Mark) : random.pick(desk.marks));
      } else if (choice < 0.85) acknowledgeSome(desk);
      else if (choice < 0.93) readAgain(desk);
      else tryForeign(desk);
    },
    /** A whole traversal: what it shows is all that was not acknowledged. */
    readAll: (desk: Desk): void => {
      for (let mark = turnPage(desk, null); mark !== null;) mark = turnPage(desk, mark);
      oracle.askWhole(desk.member, desk.book, desk.store.db, Inbox.unreadCount(desk.store.db));
    },
  };
};
