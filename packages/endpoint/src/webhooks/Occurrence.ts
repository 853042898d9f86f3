// The one delivery that is due: an unread item in the Events draft's envelope, stored as the exact bytes that every attempt
// sends. Functions over the store; writes join the caller's transaction. Implements ING-92, ING-93, ING-96, ING-97 and ING-104.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { type DeliveryToken, type EventId, eventIdOf } from "@social-harness/protocol/identity/Identifier";
import * as Inbox from "../ingress/Inbox.ts";
import type { Database } from "../store/Database.ts";
import * as Limits from "./Limits.ts";
import * as Registration from "./Registration.ts";

export const eventName = "org.social-harness/inbox.item";

export interface Occurrence {
  readonly deliveryToken: DeliveryToken;
  readonly eventId: EventId;
  readonly body: Uint8Array;
}

/** The same item always has the same bytes: the time in it is that of its admission. */
const bodyOf = ({ delivery, admittedAt }: Inbox.Unread): Buffer => {
  const { deliveryToken, ...carried } = delivery;
  const enveloped = (data: object): Buffer =>
    CanonicalJson.encodeBytes({
      eventId: eventIdOf(deliveryToken),
      name: eventName,
      timestamp: new Date(admittedAt).toISOString(),
      data: data as CanonicalJson.Json,
      cursor: null,
    });
  const whole = enveloped({ kind: "item", ...carried });
  if (whole.byteLength <= Limits.envelopeBytesMax) return whole;
  const { item } = carried;
  const bytes = CanonicalJson.byteLength(item as CanonicalJson.Json);
  return enveloped({ kind: "reference", itemKind: item.kind, bytes });
};

export const current = (db: Database): Occurrence | null => {
  const row = db.get("SELECT delivery_token, body FROM webhook_occurrence");
  if (row === undefined) return null;
  const deliveryToken = row["delivery_token"] as DeliveryToken;
  return { deliveryToken, eventId: eventIdOf(deliveryToken), body: row["body"] as Uint8Array };
};

/** Makes the oldest unread item the delivery that is due; null when there is none. */
export const offer = (db: Database): Occurrence | null => {
  const unread = Inbox.oldestUnread(db);
  if (unread === null) return null;
  const { deliveryToken } = unread.delivery;
  const body = bodyOf(unread);
  db.run("INSERT INTO webhook_occurrence (one, delivery_token, body) VALUES (1, ?, ?)", deliveryToken, body);
  return { deliveryToken, eventId: eventIdOf(deliveryToken), body };
};

export const clear = (db: Database): void => {
  db.run("DELETE FROM webhook_occurrence");
};

/**
 * Drops the due delivery if it is of one of these items, which leave the inbox in the same transaction by another way: the
 * owner discards one, or recovery retires it before delivery starts. Its failures are forgotten with it; its item stays
 * readable under its event id.
 */
export const drop = (db: Database, tokens: ReadonlyArray<DeliveryToken>, now: number): void => {
  const due = db.get("SELECT delivery_token FROM webhook_occurrence")?.["delivery_token"];
  if (due === undefined || !tokens.includes(due as DeliveryToken)) return;
  clear(db);
  const registration = Registration.load(db);
  if (registration !== null) Registration.apply(db, registration, { kind: "acknowledged", now });
};
