import { expect } from "vitest";
import { Ed25519Signature, Opaque32, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { ReadyState } from "@social-harness/router/client/RouterClient";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Database } from "../../src/store/Database.ts";
import * as Settings from "../../src/store/Settings.ts";
import * as Equivocations from "../../src/transport/Equivocations.ts";
import * as LaneHeads from "../../src/transport/LaneHeads.ts";
import * as RouterTerms from "../../src/transport/RouterTerms.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

const instance = (n: number): RouterInstanceId => RouterInstanceId.fromBytes(Buffer.alloc(16, n));
const opaque = (n: number): Opaque32 => Opaque32.fromBytes(Buffer.alloc(32, n));

const ready = (n: number, more: Partial<ReadyState> = {}): ReadyState => ({
  routerInstanceId: instance(n),
  acknowledgedCursor: 0,
  tailCursor: 100,
  acceptedSends: 0,
  ...more,
});

/** Puts envelopes into the outbox as Outbox.ts counts them; `accepted` of the oldest are gone again. */
const enqueue = (db: Database, count: number, accepted: number): void => {
  const before = Settings.integer(db, "enqueued_sends");
  for (let i = before + 1; i <= before + count; i++) {
    db.run("INSERT INTO outbox (sequence, message_id, envelope) VALUES (?, '', '')", i);
  }
  Settings.put(db, "enqueued_sends", before + count);
  db.run(
    "DELETE FROM outbox WHERE sequence IN (SELECT sequence FROM outbox ORDER BY sequence LIMIT ?)",
    accepted,
  );
};

const head = (n: number, sequence: number, laneHead = opaque(sequence)): LaneHeads.Seen => ({
  routerInstanceId: instance(n),
  lane: opaque(200),
  sequence,
  laneHead,
  signature: Ed25519Signature.fromBytes(Buffer.alloc(64, sequence)),
});

const keepHead = (
  db: Database,
  { routerInstanceId, lane, sequence, laneHead, signature }: LaneHeads.Seen,
): void => {
  db.run(
    "INSERT INTO lane_head (lane, sequence, router_instance_id, lane_head, signature) VALUES (?, ?, ?, ?, ?)",
    lane,
    sequence,
    routerInstanceId,
    laneHead,
    signature,
  );
};

verifies("HIS-130", "a store that was never bound begins its first term and leaves none behind", () => {
  const db = temporaryStore();
  expect(RouterTerms.judge(db, ready(1))).toBe("another-instance");
  RouterTerms.bind(db, instance(1), 5);
  expect(RouterTerms.judge(db, ready(1))).toBe("same");
  expect(RouterTerms.formerTerms(db)).toEqual([]);
  expect(Settings.integer(db, "router_term")).toBe(1);
});

verifies("HIS-51", "counts belong to an instance: what one accepted says nothing about the next", () => {
  const db = temporaryStore();
  RouterTerms.bind(db, instance(1), 0);
  enqueue(db, 10, 8);
  expect(RouterTerms.judge(db, ready(1, { acceptedSends: 10 }))).toBe("same");
  expect(RouterTerms.judge(db, ready(1, { acceptedSends: 11 }))).toBe("lost-memory");
  // Two wait: the next instance may have been given them before this was written down, and no other.
  expect(RouterTerms.judge(db, ready(2, { acceptedSends: 2 }))).toBe("another-instance");
  expect(RouterTerms.judge(db, ready(2, { acceptedSends: 3 }))).toBe("lost-memory");
  expect(RouterTerms.judge(db, ready(2, { acknowledgedCursor: 1 }))).toBe("lost-memory");
  RouterTerms.bind(db, instance(2), 0);
  enqueue(db, 1, 3);
  expect(RouterTerms.judge(db, ready(2, { acceptedSends: 3 }))).toBe("same");
  expect(RouterTerms.judge(db, ready(2, { acceptedSends: 4 }))).toBe("lost-memory");
});

verifies(
  "HIS-133",
  "an instance that comes back meets the cursor, the heads and the counts that it left",
  () => {
    const db = temporaryStore();
    RouterTerms.bind(db, instance(1), 0);
    enqueue(db, 4, 4);
    Settings.put(db, "router_cursor", 7);
    keepHead(db, head(1, 3));
    RouterTerms.bind(db, instance(2), 1);
    expect(LaneHeads.last(db, opaque(200))).toBeNull();
    expect(Settings.integer(db, "router_cursor")).toBe(0);
    enqueue(db, 5, 5);
    Settings.put(db, "router_cursor", 2);
    expect(RouterTerms.judge(db, ready(1, { acceptedSends: 4, acknowledgedCursor: 7 }))).toBe(
      "another-instance",
    );
    expect(RouterTerms.judge(db, ready(1, { acceptedSends: 5 }))).toBe("lost-memory");
    expect(RouterTerms.judge(db, ready(1, { acknowledgedCursor: 8 }))).toBe("lost-memory");
    RouterTerms.bind(db, instance(1), 2);
    expect(LaneHeads.last(db, opaque(200))).toEqual(head(1, 3));
    expect(Settings.integer(db, "router_cursor")).toBe(7);
    expect(RouterTerms.judge(db, ready(1, { acceptedSends: 4 }))).toBe("same");
    expect(RouterTerms.judge(db, ready(1, { acceptedSends: 5 }))).toBe("lost-memory");
    expect(RouterTerms.formerTerms(db)).toEqual([
      {
        term: 2,
        routerInstanceId: instance(2),
        ending: "another-instance",
        endedAt: 2,
        cursor: 2,
        tail: null,
      },
    ]);
    expect(Settings.integer(db, "router_term")).toBe(3);
  },
);

verifies(
  ["HIS-132", "HIS-134"],
  "a roll-back keeps the heads, and the first of them that is signed otherwise is a proof",
  () => {
    const db = temporaryStore();
    RouterTerms.bind(db, instance(1), 0);
    Settings.put(db, "router_cursor", 9);
    for (const sequence of [1, 2, 3]) keepHead(db, head(1, sequence));
    expect(RouterTerms.judge(db, ready(1, { tailCursor: 8 }))).toBe("rolled-back");
    RouterTerms.rollBack(db, 4, 8, 1);
    expect(RouterTerms.judge(db, ready(1, { tailCursor: 8 }))).toBe("same");
    expect(RouterTerms.formerTerms(db)).toMatchObject([{ ending: "rolled-back", cursor: 9, tail: 8 }]);
    RouterTerms.compareWithFormer(db, head(1, 1));
    RouterTerms.compareWithFormer(db, head(2, 2, opaque(9)));
    RouterTerms.compareWithFormer(db, head(1, 4, opaque(9)));
    expect(Equivocations.count(db)).toBe(0);
    RouterTerms.compareWithFormer(db, head(1, 2, opaque(9)));
    RouterTerms.compareWithFormer(db, head(1, 3, opaque(9)));
    expect(Equivocations.all(db)).toEqual([[{ ...head(1, 2) }, { ...head(1, 2, opaque(9)) }]]);
  },
);

verifies("HIS-130", "what was held for a lane of the term that ended is of no lane any more", () => {
  const db = temporaryStore();
  RouterTerms.bind(db, instance(1), 0);
  db.run(
    "INSERT INTO held_envelope (sender_agent_id, lane, lane_sequence, envelope) VALUES ('a', ?, 3, '')",
    opaque(200),
  );
  RouterTerms.bind(db, instance(2), 0);
  expect(db.get("SELECT lane FROM held_envelope")).toEqual({ lane: "" });
});

verifies("HIS-134", "the last 64 terms are kept, and none of the heads before", () => {
  const db = temporaryStore();
  for (let n = 1; n <= 100; n++) {
    RouterTerms.bind(db, instance(n), n);
    keepHead(db, head(n, 1));
  }
  const terms = RouterTerms.formerTerms(db).map(({ term }) => term);
  expect([terms.length, terms[0], terms.at(-1)]).toEqual([64, 36, 99]);
  expect(db.get("SELECT count(*) AS n, min(term) AS first FROM former_lane_head")).toEqual({
    n: 64,
    first: 36,
  });
});
