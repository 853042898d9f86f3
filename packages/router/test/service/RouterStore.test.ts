import { openSqliteLog, type SqliteLog } from "@social-harness/log/SqliteLog";
import { MessageId } from "@social-harness/protocol/identity/Identifier";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Limits from "../../src/Limits.ts";
import {
  deliveryOf,
  openRouterStore,
  type RouterStore,
  type RouterStoreOptions,
  type SendResult,
} from "../../src/service/RouterStore.ts";
import { sendersIn } from "../../src/service/Senders.ts";
import { stream } from "../../src/service/RouterSchema.ts";
import * as Envelope from "../../src/wire/Envelope.ts";
import * as Frames from "../../src/wire/Frames.ts";
import * as Lane from "../../src/wire/Lane.ts";
import { envelopeFrom, idOf, makeAgents, random, routerSigner, type Agent } from "../Fixture.ts";

const [ada, bob, cyd] = makeAgents(3) as [Agent, Agent, Agent];

interface Opened {
  readonly log: SqliteLog;
  readonly store: RouterStore;
  now: number;
}

const openStore = async (options: Partial<RouterStoreOptions> = {}): Promise<Opened> => {
  const log = options.log ?? openSqliteLog(":memory:");
  const opened = { log, now: 1_000 };
  const store = await openRouterStore({
    log,
    signer: routerSigner,
    clock: () => opened.now,
    random,
    mailboxBytesMax: Limits.mailboxBytesMax,
    retentionMs: Limits.retentionMs,
    dedupeMs: Limits.dedupeMs,
    ...options,
  });
  return Object.assign(opened, { store });
};

const accept = (store: RouterStore, { envelope, text }: Envelope.FinishedEnvelope): Promise<SendResult> =>
  store.accept({ envelope, envelopeText: text, envelopeDigest: Envelope.digestOfText(text) });

const accepted = async (store: RouterStore, finished: Envelope.FinishedEnvelope) => {
  const result = await accept(store, finished);
  if (result.kind !== "accepted") throw new Error(`rejected: ${result.reason}`);
  return result;
};

verifies(
  ["RTR-07", "RTR-08", "RTR-30"],
  "each lane is one signed chain, and each mailbox one row of cursors",
  async () => {
    const { store } = await openStore();
    const heads = new Map<string, Lane.LaneStep & { readonly head: ReturnType<typeof Lane.laneHeadOf> }>();
    const cursors = new Map<string, number>();
    const sets = [[ada, bob], [ada, bob, cyd], [bob], [ada, bob], [ada, bob, cyd]];
    for (const set of sets) {
      const finished = envelopeFrom(ada, set, "x");
      const { lane, sequence, copies, body } = await accepted(store, finished);
      const last = heads.get(lane);
      expect(sequence).toBe((last?.sequence ?? 0) + 1);
      const step = {
        lane,
        previous: last?.head ?? null,
        sequence,
        envelopeDigest: Envelope.digestOf(finished.envelope),
      };
      const head = Lane.laneHeadOf(step);
      heads.set(lane, { ...step, head });
      expect(copies.map(({ agentId }) => agentId)).toEqual(finished.envelope.recipientAgentIds);
      for (const { agentId, cursor } of copies) {
        expect(cursor).toBe((cursors.get(agentId) ?? 0) + 1);
        cursors.set(agentId, cursor);
        const frame = Frames.decodeServerFrame(deliveryOf(cursor, body).toString("utf8"));
        expect(frame).toMatchObject({
          kind: "deliver",
          cursor,
          lane,
          sequence,
          laneHead: head,
          envelopeText: finished.text,
        });
        const { signature } = frame as Frames.Deliver;
        const statement = { routerInstanceId: store.routerInstanceId, lane, sequence, laneHead: head };
        expect(Lane.verify(Ed25519.verifier, routerSigner.publicKey, statement, signature)).toBe(true);
      }
    }
    expect(heads.size).toBe(3);
  },
);

verifies(
  ["RTR-37", "RTR-38"],
  "the same bytes get the first acceptance, other bytes a conflict, and only the first counts",
  async () => {
    const { store } = await openStore();
    const messageId = MessageId.fromBytes(Buffer.alloc(16, 1));
    const first = envelopeFrom(ada, [ada, bob], "one", messageId);
    const other = envelopeFrom(ada, [ada, bob], "two", messageId);
    const { lane, sequence } = await accepted(store, first);
    await accepted(store, envelopeFrom(ada, [ada, bob], "between"));
    expect(await accept(store, first)).toMatchObject({ kind: "accepted", lane, sequence, copies: [] });
    expect(await accept(store, other)).toEqual({ kind: "rejected", reason: "idempotency-conflict" });
    expect(store.mailbox(idOf(ada))).toEqual(expect.objectContaining({ acceptedSends: 2, tailCursor: 2 }));
    // Another sender may use the same id.
    await accepted(store, envelopeFrom(bob, [ada, bob], "three", messageId));
  },
);

verifies(
  "RTR-37",
  "a repeat is known for 30 days, acknowledged or not, and the count never falls",
  async () => {
    const opened = await openStore();
    const { store } = opened;
    const sent = envelopeFrom(ada, [ada, bob], "one");
    const { sequence } = await accepted(store, sent);
    await store.acknowledge(new Map([ada, bob].map((agent) => [idOf(agent), 1])));
    opened.now += Limits.dedupeMs;
    expect(await store.expire(100)).toBe(0);
    expect(await accepted(store, sent)).toMatchObject({ sequence, copies: [] });
    opened.now += 1;
    expect(await store.expire(100)).toBe(1);
    expect(store.mailbox(idOf(ada)).acceptedSends).toBe(1);
    expect(await accepted(store, sent)).toMatchObject({ sequence: sequence + 1 });
  },
);

verifies("RTR-48", "a body is kept until its last recipient acknowledged, and not longer", async () => {
  const { store, log } = await openStore();
  const { position } = await accepted(store, envelopeFrom(ada, [ada, bob], "one"));
  const bodies = async (): Promise<number> => (await log.read(stream, 2)).length;
  await store.acknowledge(new Map([[idOf(ada), 1]]));
  expect(await bodies()).toBe(1);
  expect(store.copies(idOf(bob), 1, 10)).toEqual([expect.objectContaining({ cursor: 1, position })]);
  await store.acknowledge(new Map([[idOf(bob), 1]]));
  expect(await bodies()).toBe(0);
  expect(store.copies(idOf(bob), 1, 10)).toEqual([]);
});

verifies(
  "RTR-48",
  "a body that nobody fetched for 30 days is dropped, and its places stay as holes",
  async () => {
    const opened = await openStore();
    const { store, log } = opened;
    await accepted(store, envelopeFrom(ada, [ada, bob], "old"));
    opened.now += 10;
    await accepted(store, envelopeFrom(ada, [ada, bob], "newer"));
    opened.now += Limits.retentionMs - 9;
    expect(await store.expire(100)).toBeGreaterThan(0);
    expect((await log.read(stream, 2)).map(({ position }) => position)).toEqual([3]);
    expect(store.copies(idOf(bob), 1, 10).map(({ cursor }) => cursor)).toEqual([2]);
    expect(store.mailbox(idOf(bob))).toMatchObject({ acknowledgedCursor: 0, tailCursor: 2 });
  },
);

verifies(
  "RTR-33",
  "acknowledgments only move forward, and never beyond what was put into the mailbox",
  async () => {
    const { store } = await openStore();
    for (const body of ["1", "2", "3"]) await accepted(store, envelopeFrom(ada, [ada, bob], body));
    const acknowledged = async (cursor: number): Promise<number> => {
      await store.acknowledge(new Map([[idOf(bob), cursor]]));
      return store.mailbox(idOf(bob)).acknowledgedCursor;
    };
    expect(await acknowledged(2)).toBe(2);
    expect(await acknowledged(1)).toBe(2);
    expect(await acknowledged(4)).toBe(2);
    expect(await acknowledged(3)).toBe(3);
  },
);

verifies(
  "RTR-34",
  "a mailbox takes exactly its quota, then loses its own copies and nobody else's",
  async () => {
    const sample = envelopeFrom(ada, [ada, bob], "same size").text.length;
    const { store } = await openStore({ mailboxBytesMax: 2 * sample });
    for (let i = 1; i <= 3; i++) {
      const { copies } = await accepted(store, envelopeFrom(ada, [ada, bob], "same size"));
      const of = (agent: Agent) => copies.find(({ agentId }) => agentId === idOf(agent));
      expect(of(ada)).toEqual({ agentId: idOf(ada), cursor: i, stored: true });
      expect(of(bob)).toEqual({ agentId: idOf(bob), cursor: i, stored: i <= 2 });
      await store.acknowledge(new Map([[idOf(ada), i]]));
    }
    expect(await accept(store, envelopeFrom(ada, [bob], "same size"))).toEqual({
      kind: "rejected",
      reason: "mailbox-full",
    });
    await store.acknowledge(new Map([[idOf(bob), 1]]));
    expect(await accepted(store, envelopeFrom(ada, [bob], "same"))).toMatchObject({
      copies: [{ cursor: 4, stored: true }],
    });
    expect(store.copies(idOf(bob), 1, 10).map(({ cursor }) => cursor)).toEqual([2, 4]);
  },
);

verifies(
  "RTR-34",
  "a single recipient's refusal leaves no trace: the same envelope is taken once there is room",
  async () => {
    const sent = envelopeFrom(ada, [bob], "later");
    const { store } = await openStore({ mailboxBytesMax: sent.text.length });
    await accepted(store, envelopeFrom(cyd, [bob], "first"));
    expect(await accept(store, sent)).toMatchObject({ kind: "rejected" });
    expect(store.mailbox(idOf(ada)).acceptedSends).toBe(0);
    await store.acknowledge(new Map([[idOf(bob), 1]]));
    expect(await accepted(store, sent)).toMatchObject({ sequence: 2, copies: [{ cursor: 2 }] });
  },
);

verifies("RTR-09", "another log is another instance, the same log the same", async () => {
  const { store, log } = await openStore();
  const again = await openStore({ log });
  expect(again.store.routerInstanceId).toBe(store.routerInstanceId);
  expect((await openStore()).store.routerInstanceId).not.toBe(store.routerInstanceId);
});

verifies("RUN-104", "whoever has sent is found in the tables, a mere recipient is not", async () => {
  const empty = openSqliteLog(":memory:");
  expect(sendersIn(empty.database)).toEqual([]);
  const { log, store } = await openStore();
  await accepted(store, envelopeFrom(ada, [bob, cyd], "one"));
  await accepted(store, envelopeFrom(bob, [cyd], "two"));
  expect(new Set(sendersIn(log.database))).toEqual(new Set([idOf(ada), idOf(bob)]));
});
