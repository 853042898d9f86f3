// Whether an inbox stays as quick as on its first day: paging, counting, acknowledging, delivering and starting over a million
// tombstones beside the same inbox without any. Both stores stand next to each other and are asked in turn.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { admitAtOnce } from "@social-harness/endpoint/ingress/Classify";
import * as Inbox from "@social-harness/endpoint/ingress/Inbox";
import * as Recovery from "@social-harness/endpoint/ingress/Recovery";
import * as Database from "@social-harness/endpoint/store/Database";
import * as Occurrence from "@social-harness/endpoint/webhooks/Occurrence";
import type { AgentAddress } from "@social-harness/protocol/address/Address";
import type { Item } from "@social-harness/protocol/delivery/Item";
import { type DeliveryToken, PostId } from "@social-harness/protocol/identity/Identifier";
import { inFolder } from "./Fleet.ts";
import * as InboxWebhook from "./InboxWebhook.ts";
import type { Line, Question } from "./Line.ts";
import { median, wallMsOf } from "./Statistics.ts";

const tombstones = 1_000_000;
const rounds = 300;
/** More than one page of them, in both stores: each round acknowledges one from the end and receives one from the start. */
const unread = 2 * rounds + 100;

const random = (byteCount: number): Buffer => randomBytes(byteCount);

const item = (): Item => ({
  kind: "multicast",
  message: {
    kind: "direct",
    postId: PostId.fromBytes(random(32)),
    address: "agent:ada-agent" as AgentAddress,
    sender: "agent:ada-agent" as AgentAddress,
    content: [{ type: "text", text: "Could we meet on Tuesday?" }],
  },
});

/** Tombstones as acknowledging leaves them: rows with a random token each. Built without waiting for the disk. */
const bury = (db: Database.Database, count: number): void => {
  db.get("PRAGMA synchronous = OFF");
  db.get("PRAGMA cache_size = -524288");
  db.transaction(() => {
    db.run(
      `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
       INSERT INTO inbox (delivery_token, item, item_bytes, admitted_at, acknowledged_at)
       SELECT 'dlv_' || substr(hex(randomblob(22)), 1, 43), ?, 200, n, n FROM number`,
      count,
      JSON.stringify(item()),
    );
  });
  db.get("PRAGMA wal_checkpoint(TRUNCATE)");
  db.get("PRAGMA cache_size = -8192");
  db.get("PRAGMA synchronous = FULL");
};

interface Store {
  readonly db: Database.Database;
  readonly tokens: ReadonlyArray<DeliveryToken>;
}

const openStore = (path: string, buried: number): Store => {
  const db = Database.open(path);
  if (buried > 0) bury(db, buried);
  const tokens = db.transaction(() => {
    Inbox.prepare(db, random);
    return Array.from({ length: unread }, () => Inbox.admit(db, { item: item(), now: 1, random }));
  });
  return { db, tokens };
};

/** The last page but one, so that paging itself has rows to pass over. */
const page = ({ db }: Store): void => {
  Inbox.page(db);
};

const operations = {
  page,
  count: ({ db }: Store): void => void Inbox.unreadCount(db),
  acknowledge: ({ db, tokens }: Store, round: number): void =>
    db.transaction(() => Inbox.acknowledge(db, tokens[unread - 1 - round] as DeliveryToken, 2)),
  /** Puts the next item to be delivered in the place of the one that is due. */
  offer: ({ db }: Store): void =>
    db.transaction(() => {
      Occurrence.clear(db);
      Occurrence.offer(db);
    }),
  /** What a start does about requests: there are none. */
  recover: ({ db }: Store): void =>
    void Recovery.recover({
      db,
      answerable: new Set(),
      now: 2,
      random,
      admit: admitAtOnce,
      onRetired: Occurrence.drop,
    }),
} as const;
type Operation = keyof typeof operations;

const measure = (store: Store, operation: Operation, round: number): number =>
  wallMsOf(() => operations[operation](store, round));

interface Samples {
  readonly full: Array<number>;
  readonly empty: Array<number>;
}

const lineOf = (operation: string, { full, empty }: Samples): Line => ({
  name: `inbox ${operation}, ${tombstones} tombstones`,
  measured: { value: median(full), unit: "ms" },
  against: { value: median(empty), unit: "ms", name: "the same inbox without them" },
  target: { atMost: 1.5 },
});

/** From a receipt to the arrival of the next delivery, with the item retired in between. */
const receipts = async (full: Store, empty: Store): Promise<Line> => {
  const samples: Samples = { full: [], empty: [] };
  const webhooks = { full: await InboxWebhook.open(full.db), empty: await InboxWebhook.open(empty.db) };
  for (let round = 0; round < rounds; round++) {
    samples.full.push(await webhooks.full.receive());
    samples.empty.push(await webhooks.empty.receive());
  }
  await webhooks.full.close();
  await webhooks.empty.close();
  return lineOf("receipt", samples);
};

const answer = (): Promise<ReadonlyArray<Line>> =>
  inFolder(async (folder) => {
    const full = openStore(join(folder, "full.sqlite"), tombstones);
    const empty = openStore(join(folder, "empty.sqlite"), 0);
    try {
      const lines = (Object.keys(operations) as ReadonlyArray<Operation>).map((operation): Line => {
        const samples: Samples = { full: [], empty: [] };
        for (let round = 0; round < rounds; round++) {
          samples.full.push(measure(full, operation, round));
          samples.empty.push(measure(empty, operation, round));
        }
        return lineOf(operation, samples);
      });
      return [...lines, await receipts(full, empty)];
    } finally {
      full.db.close();
      empty.db.close();
    }
  });

export const inbox: Question = {
  name: "inbox",
  asks: "Does an inbox slow down with a million tombstones?",
  answer,
};
