import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Limits from "../../src/Limits.ts";
import * as Frames from "../../src/wire/Frames.ts";
import { connect, envelopeFrom, makeAgents, startBench, until, type Agent, type Bench } from "../Fixture.ts";
import { callAs, type RawCaller } from "./RawCaller.ts";

const agents = makeAgents(32);
const [ada, bob, cyd] = agents as [Agent, Agent, Agent];

/** Sends the bodies from one connection, and waits for every acceptance. */
const sendAll = async (
  bench: Bench,
  sender: Agent,
  set: ReadonlyArray<Agent>,
  bodies: ReadonlyArray<string>,
) => {
  const told = connect(bench.router, sender);
  const outcomes = await Promise.all(
    bodies.map((body) => {
      const { text, envelope } = envelopeFrom(sender, set, body);
      return told.client.send(text, envelope.messageId);
    }),
  );
  expect(outcomes.every(({ kind }) => kind === "accepted")).toBe(true);
  return told;
};

const numbered = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, i) => `body ${i}`);

const deliveries = async (caller: RawCaller, count: number): Promise<ReadonlyArray<number>> => {
  const cursors: Array<number> = [];
  while (cursors.length < count) {
    const frame = await caller.next();
    if (frame.kind !== "deliver") throw new Error(`expected a delivery, got ${frame.kind}`);
    cursors.push(frame.cursor);
  }
  return cursors;
};

const ack = (caller: RawCaller, cursor: number): void => caller.write(Frames.encode({ kind: "ack", cursor }));

/** Whatever the Router had to say before it handled our last frame has arrived once it answers this. */
const settled = async (caller: RawCaller): Promise<void> => {
  const pong = new Promise<void>((resolve) => caller.socket.once("pong", () => resolve()));
  caller.socket.ping();
  await pong;
};

verifies(
  "RTR-32",
  "a caller that acknowledges nothing gets 256 deliveries, and the rest as it acknowledges",
  async () => {
    const bench = await startBench();
    const slow = await callAs(bench.router.url, bob);
    const quick = connect(bench.router, cyd);
    const sender = await sendAll(bench, ada, [ada, bob, cyd], numbered(300));
    await quick.until(() => quick.deliveries.length === 300);
    expect(await deliveries(slow, 256)).toEqual(Array.from({ length: 256 }, (_, i) => i + 1));
    await settled(slow);
    expect(slow.unread()).toBe(0);
    ack(slow, 1);
    expect(await deliveries(slow, 1)).toEqual([257]);
    await settled(slow);
    expect(slow.unread()).toBe(0);
    ack(slow, 257);
    expect((await deliveries(slow, 43)).at(-1)).toBe(300);
    await Promise.all([sender, quick].map(({ client }) => client.close()));
    await bench.close();
  },
);

verifies(
  "RTR-32",
  "a caller that acknowledges nothing gets 4 MiB of large deliveries, and the rest as it acknowledges",
  async () => {
    const bench = await startBench({ limits: { sendBytesBurst: 1e9 } });
    const slow = await callAs(bench.router.url, bob);
    const body = "x".repeat(350_000);
    const size = envelopeFrom(ada, [ada, bob], body).text.length;
    const fit = Math.floor(Limits.windowBytesMax / size);
    const sender = await sendAll(
      bench,
      ada,
      [ada, bob],
      Array.from({ length: fit + 2 }, () => body),
    );
    await deliveries(slow, fit);
    await settled(slow);
    expect(slow.unread()).toBe(0);
    ack(slow, 1);
    expect(await deliveries(slow, 1)).toEqual([fit + 1]);
    await settled(slow);
    expect(slow.unread()).toBe(0);
    await sender.client.close();
    await bench.close();
  },
);

verifies("RTR-32", "a delivery larger than the whole window still goes out, alone", async () => {
  const bench = await startBench({ limits: { windowBytesMax: 100 } });
  const slow = await callAs(bench.router.url, bob);
  const sender = await sendAll(bench, ada, [ada, bob], numbered(2));
  expect(await deliveries(slow, 1)).toEqual([1]);
  await settled(slow);
  expect(slow.unread()).toBe(0);
  ack(slow, 1);
  expect(await deliveries(slow, 1)).toEqual([2]);
  await sender.client.close();
  await bench.close();
});

verifies("RTR-32", "a caller that stops reading its socket does not hold up the others", async () => {
  const bench = await startBench({ limits: { sendBytesBurst: 1e9 } });
  const stuck = await callAs(bench.router.url, bob);
  stuck.socket.pause();
  const quick = connect(bench.router, cyd);
  const body = "x".repeat(300_000);
  const sender = await sendAll(
    bench,
    ada,
    [ada, bob, cyd],
    Array.from({ length: 40 }, () => body),
  );
  await quick.until(() => quick.deliveries.length === 40);
  stuck.socket.resume();
  expect(await deliveries(stuck, 1)).toEqual([1]);
  await Promise.all([sender, quick].map(({ client }) => client.close()));
  await bench.close();
});

verifies(
  ["RTR-31", "RTR-33"],
  "what was acknowledged is not delivered again, what was not is, and in order",
  async () => {
    const bench = await startBench();
    const sender = await sendAll(bench, ada, [ada, bob], numbered(5));
    const first = await callAs(bench.router.url, bob);
    expect(first.ready).toMatchObject({ acknowledgedCursor: 0, tailCursor: 5 });
    await deliveries(first, 5);
    ack(first, 3);
    ack(first, 2);
    await settled(first);
    first.socket.close();
    const second = await callAs(bench.router.url, bob);
    expect(second.ready).toMatchObject({ acknowledgedCursor: 3, tailCursor: 5 });
    expect(await deliveries(second, 2)).toEqual([4, 5]);
    ack(second, 6);
    expect(await second.next()).toEqual({ kind: "closed", code: 1008, why: "ack-beyond-tail" });
    await sender.client.close();
    await bench.close();
  },
);

verifies(
  "RTR-33",
  "an endpoint that is further than the Router remembers passes over what it has",
  async () => {
    const bench = await startBench({ limits: { windowDeliveriesMax: 2 } });
    const sender = await sendAll(bench, ada, [ada, bob], numbered(6));
    const caller = await callAs(bench.router.url, bob);
    ack(caller, 5);
    const cursors = [...(await deliveries(caller, 2)), ...(await deliveries(caller, 1))];
    expect(cursors).toEqual([1, 2, 6]);
    await sender.client.close();
    await bench.close();
  },
);

verifies(
  "RTR-34",
  "a full mailbox shows a gap for its own lost copies, between what it kept and what came later",
  async () => {
    const size = envelopeFrom(ada, [ada, bob], "body 0").text.length;
    const bench = await startBench({ limits: { mailboxBytesMax: 3 * size } });
    const sender = connect(bench.router, ada);
    const post = async (body: string): Promise<void> => {
      const { text, envelope } = envelopeFrom(ada, [ada, bob], body);
      const outcome = await sender.client.send(text, envelope.messageId);
      expect(outcome.kind).toBe("accepted");
      // The sender's own copy must be gone from its mailbox, or that would fill up too.
      await until(() => waitingBytes(bench, ada) === 0);
    };
    for (const body of numbered(5)) await post(body);
    const reader = connect(bench.router, bob);
    await reader.until(() => reader.gaps.length === 1);
    expect(reader.texts()).toEqual(["body 0", "body 1", "body 2"]);
    expect(reader.gaps).toEqual([{ fromCursor: 4, toCursor: 5 }]);
    await until(() => waitingBytes(bench, bob) === 0);
    await post("body 5");
    await reader.until(() => reader.deliveries.length === 4);
    expect(reader.deliveries.at(-1)?.cursor).toBe(6);
    expect(sender.texts()).toEqual(numbered(6));
    await Promise.all([sender, reader].map(({ client }) => client.close()));
    await bench.close();
  },
);

verifies("RTR-34", "a single recipient's full mailbox rejects the send instead of losing it", async () => {
  const size = envelopeFrom(ada, [bob], "body").text.length;
  const bench = await startBench({ limits: { mailboxBytesMax: size } });
  const sender = connect(bench.router, ada);
  const post = () => {
    const { text, envelope } = envelopeFrom(ada, [bob], "body");
    return sender.client.send(text, envelope.messageId);
  };
  expect(await post()).toMatchObject({ kind: "accepted" });
  expect(await post()).toEqual({ kind: "rejected", reason: "mailbox-full" });
  await sender.client.close();
  await bench.close();
});

verifies("RTR-48", "what retention took from a mailbox shows as a gap, and the rest follows", async () => {
  let now = 0;
  const bench = await startBench({ clock: () => now, limits: { expireIntervalMs: 5 } });
  const sender = await sendAll(bench, ada, [ada, bob], numbered(3));
  now += Limits.retentionMs + 1;
  await until(() => waitingBytes(bench, bob) === 0);
  const { text, envelope } = envelopeFrom(ada, [ada, bob], "fresh");
  await sender.client.send(text, envelope.messageId);
  const reader = connect(bench.router, bob);
  await reader.until(() => reader.deliveries.length === 1);
  expect(reader.gaps).toEqual([{ fromCursor: 1, toCursor: 3 }]);
  expect(reader.texts()).toEqual(["fresh"]);
  await Promise.all([sender, reader].map(({ client }) => client.close()));
  await bench.close();
});

verifies(
  ["RTR-30", "RTR-51"],
  "32 recipients each get the largest body once, and each opens its own",
  async () => {
    const bench = await startBench();
    const everyone = agents.map((agent) => connect(bench.router, agent));
    const sender = everyone[0] as (typeof everyone)[number];
    const largest = "x".repeat(380_000);
    for (const body of ["small", largest, "last"]) {
      const { text, envelope } = envelopeFrom(ada, agents, body);
      expect(await sender.client.send(text, envelope.messageId)).toMatchObject({ kind: "accepted" });
    }
    for (const told of everyone) {
      await told.until(() => told.deliveries.length === 3);
      expect(told.texts()).toEqual(["small", largest, "last"]);
      expect(told.deliveries.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    }
    await Promise.all(everyone.map(({ client }) => client.close()));
    await bench.close();
  },
);

const waitingBytes = (bench: Bench, agent: Agent): number =>
  bench.log.database
    .prepare("SELECT waiting_bytes AS bytes FROM router_agent WHERE agent_id = ?")
    .get(agent.card.agentId)?.["bytes"] as number;
