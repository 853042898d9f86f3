import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { LogError } from "@social-harness/log/LogError";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import { AgentCardDigest, MessageId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterAll, beforeAll, expect } from "vitest";
import * as Limits from "../../src/Limits.ts";
import * as Envelope from "../../src/wire/Envelope.ts";
import type * as Frames from "../../src/wire/Frames.ts";
import * as Lane from "../../src/wire/Lane.ts";
import {
  envelopeFrom,
  idOf,
  makeAgent,
  makeAgents,
  random,
  startBench,
  type Agent,
  type Bench,
} from "../Fixture.ts";
import { callAs, type RawCaller } from "./RawCaller.ts";

const [ada, bob, cyd] = makeAgents(3) as [Agent, Agent, Agent];
let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.close());

const verdict = async (caller: RawCaller): Promise<Frames.ServerFrame> => {
  for (;;) {
    const frame = await caller.next();
    if (frame.kind === "closed") throw new Error(`closed: ${frame.why}`);
    if (frame.kind === "accepted" || frame.kind === "rejected") return frame;
  }
};

const rejected = (requestId: number, reason: Frames.RejectedReason) => ({
  kind: "rejected",
  requestId,
  reason,
});

verifies("RTR-36", "only the caller's own envelopes, under the card it came with, are taken", async () => {
  const caller = await callAs(bench.router.url, ada);
  caller.send(1, envelopeFrom(bob, [ada, bob], "x").text);
  expect(await verdict(caller)).toEqual(rejected(1, "not-sender"));
  const { envelope } = envelopeFrom(ada, [ada, bob], "x");
  const senderCardDigest = AgentCardDigest.fromBytes(Buffer.alloc(32));
  caller.send(2, Envelope.finish(ada.signer, { ...envelope, senderCardDigest }).text);
  expect(await verdict(caller)).toEqual(rejected(2, "not-sender"));
  caller.send(3, Envelope.finish(bob.signer, envelope).text);
  expect(await verdict(caller)).toEqual(rejected(3, "bad-signature"));
  caller.send(4, CanonicalJson.encode({ ...envelope, messageId: MessageId.fromBytes(random(16)) }));
  expect(await verdict(caller)).toEqual(rejected(4, "bad-signature"));
  caller.send(5, CanonicalJson.encode(envelope));
  expect(await verdict(caller)).toMatchObject({ kind: "accepted", requestId: 5 });
  caller.socket.close();
});

verifies(
  ["RTR-21", "RTR-22"],
  "what cannot be read is answered where the request is known, and the largest frames are the limit",
  async () => {
    const caller = await callAs(bench.router.url, ada);
    const { envelope } = envelopeFrom(ada, [ada, bob], "x");
    caller.write(
      CanonicalJson.encode({ kind: "send", requestId: 1, envelope: { ...envelope, extra: true } }),
    );
    expect(await verdict(caller)).toEqual(rejected(1, "malformed"));
    const sized = (bytes: number) => envelopeFrom(ada, [ada], Buffer.alloc(bytes)).text;
    const plaintext = Math.floor((Limits.envelopeBytesMax - sized(3).length + 4) / 4) * 3;
    expect(sized(plaintext).length).toBeLessThanOrEqual(Limits.envelopeBytesMax);
    caller.send(2, sized(plaintext));
    expect(await verdict(caller)).toMatchObject({ kind: "accepted", requestId: 2 });
    caller.send(3, sized(plaintext + 3));
    expect(await verdict(caller)).toEqual(rejected(3, "too-large"));
    caller.write(`"${"a".repeat(Limits.frameBytesMax - 2)}"`);
    expect(await ended(caller)).toMatchObject({ code: 1008, why: "malformed-frame" });
    const other = await callAs(bench.router.url, ada);
    other.write(`"${"a".repeat(Limits.frameBytesMax - 1)}"`);
    expect(await ended(other)).toMatchObject({ code: 1009 });
  },
);

const ended = async (caller: RawCaller) => {
  for (;;) {
    const frame = await caller.next();
    if (frame.kind === "closed") return frame;
  }
};

verifies(
  "RTR-37",
  "a repeat gets its first acceptance and other bytes a conflict, on a later connection too",
  async () => {
    const caller = await callAs(bench.router.url, ada);
    const messageId = MessageId.fromBytes(random(16));
    const first = envelopeFrom(ada, [ada, cyd], "one", messageId).text;
    caller.send(1, first);
    const acceptance = await verdict(caller);
    caller.send(2, first);
    expect(await verdict(caller)).toEqual({ ...acceptance, requestId: 2 });
    caller.socket.close();
    const again = await callAs(bench.router.url, ada);
    again.send(3, first);
    expect(await verdict(again)).toEqual({ ...acceptance, requestId: 3 });
    again.send(4, envelopeFrom(ada, [ada, cyd], "two", messageId).text);
    expect(await verdict(again)).toEqual(rejected(4, "idempotency-conflict"));
    again.socket.close();
  },
);

verifies(
  ["RTR-06", "RTR-30"],
  "two lanes advance independently, and each recipient sees each lane in order",
  async () => {
    const dan = makeAgent(14);
    const eve = makeAgent(15);
    const fox = makeAgent(16);
    const [caller, reader] = [await callAs(bench.router.url, dan), await callAs(bench.router.url, eve)];
    const lanes = [
      [dan, eve],
      [dan, eve, fox],
    ];
    for (let i = 0; i < 10; i++) caller.send(i, envelopeFrom(dan, lanes[i % 2] as Array<Agent>, `${i}`).text);
    const last = new Map<string, Lane.LaneStep & { readonly head: string }>();
    for (let cursor = 1; cursor <= 10; cursor++) {
      const frame = await reader.next();
      if (frame.kind !== "deliver") throw new Error(frame.kind);
      expect(frame.cursor).toBe(cursor);
      const { lane, sequence, laneHead, envelopeText } = frame;
      const previous = last.get(lane);
      const step = {
        lane,
        previous: (previous?.head ?? null) as Lane.LaneStep["previous"],
        sequence,
        envelopeDigest: Envelope.digestOfText(envelopeText),
      };
      expect(sequence).toBe((previous?.sequence ?? 0) + 1);
      expect(Lane.laneHeadOf(step)).toBe(laneHead);
      last.set(lane, { ...step, head: laneHead });
    }
    expect([...last.values()].map(({ sequence }) => sequence)).toEqual([5, 5]);
    caller.socket.close();
    reader.socket.close();
  },
);

verifies(
  "RTR-35",
  "an agent over its budget is refused for now, and what comes behind is too until it repeats",
  async () => {
    let now = 0;
    const limits = { sendsPerSecond: 1, sendBurst: 2 };
    const slow = await startBench({ clock: () => now, limits });
    const caller = await callAs(slow.router.url, ada);
    const texts = ["a", "b", "c", "d"].map((body) => envelopeFrom(ada, [ada], body).text);
    texts.forEach((text, i) => caller.send(i, text));
    const verdicts = [
      await verdict(caller),
      await verdict(caller),
      await verdict(caller),
      await verdict(caller),
    ];
    const byRequest = new Map(verdicts.map((frame) => [(frame as Frames.Accepted).requestId, frame]));
    expect(byRequest.get(0)).toMatchObject({ kind: "accepted", sequence: 1 });
    expect(byRequest.get(1)).toMatchObject({ kind: "accepted", sequence: 2 });
    expect(byRequest.get(2)).toEqual(rejected(2, "rate-limited"));
    expect(byRequest.get(3)).toEqual(rejected(3, "rate-limited"));
    now += 2_000;
    caller.send(4, texts[3] as string);
    expect(await verdict(caller)).toEqual(rejected(4, "rate-limited"));
    caller.send(5, texts[2] as string);
    expect(await verdict(caller)).toMatchObject({ kind: "accepted", sequence: 3 });
    caller.send(6, texts[3] as string);
    expect(await verdict(caller)).toMatchObject({ kind: "accepted", sequence: 4 });
    // Another agent has its own budget, and a new connection does not renew this one's.
    const other = await callAs(slow.router.url, bob);
    other.send(7, envelopeFrom(bob, [bob], "x").text);
    expect(await verdict(other)).toMatchObject({ kind: "accepted" });
    const again = await callAs(slow.router.url, ada);
    again.send(8, envelopeFrom(ada, [ada], "e").text);
    expect(await verdict(again)).toEqual(rejected(8, "rate-limited"));
    await slow.close();
  },
);

verifies("RTR-35", "a budget of bytes is kept beside that of envelopes", async () => {
  const text = envelopeFrom(ada, [ada], "x").text;
  const small = await startBench({
    clock: () => 0,
    limits: { sendBytesPerSecond: 1, sendBytesBurst: text.length },
  });
  const caller = await callAs(small.router.url, ada);
  caller.send(1, text);
  expect(await verdict(caller)).toMatchObject({ kind: "accepted" });
  caller.send(2, text);
  expect(await verdict(caller)).toEqual(rejected(2, "rate-limited"));
  await small.close();
});

verifies(
  "RTR-50",
  "a send that cannot be put on disk is unavailable, and so is what follows it until it repeats",
  async () => {
    const log = openSqliteLog(":memory:");
    let failing = false;
    const fault = new LogError("unavailable", "the disk is full");
    const brittle = await startBench({
      log: { ...log, transact: (work) => (failing ? Promise.reject(fault) : log.transact(work)) },
    });
    const caller = await callAs(brittle.router.url, ada);
    const texts = ["a", "b"].map((body) => envelopeFrom(ada, [ada], body).text) as [string, string];
    failing = true;
    caller.send(1, texts[0]);
    expect(await verdict(caller)).toEqual(rejected(1, "unavailable"));
    failing = false;
    caller.send(2, texts[1]);
    expect(await verdict(caller)).toEqual(rejected(2, "unavailable"));
    caller.send(3, texts[0]);
    expect(await verdict(caller)).toMatchObject({ kind: "accepted", sequence: 1 });
    caller.send(4, texts[1]);
    expect(await verdict(caller)).toMatchObject({ kind: "accepted", sequence: 2 });
    await brittle.close();
    await log.close();
  },
);

verifies("RTR-38", "ready counts the distinct sends of the agent, repeats and rejections aside", async () => {
  const gil = makeAgent(21);
  const caller = await callAs(bench.router.url, gil);
  const text = envelopeFrom(gil, [gil], "x").text;
  caller.send(1, text);
  caller.send(2, text);
  caller.send(3, envelopeFrom(bob, [bob], "x").text);
  caller.send(4, envelopeFrom(gil, [gil], "y").text);
  for (let i = 0; i < 4; i++) await verdict(caller);
  caller.socket.close();
  const { ready } = await callAs(bench.router.url, gil);
  expect(ready).toEqual({ kind: "ready", acknowledgedCursor: 0, tailCursor: 2, acceptedSends: 2 });
  expect(idOf(gil)).not.toBe(idOf(ada));
});
