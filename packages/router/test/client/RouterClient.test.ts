import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import { makeBackoff } from "../../src/client/Backoff.ts";
import { createRouterClient } from "../../src/client/RouterClient.ts";
import * as Limits from "../../src/Limits.ts";
import * as Envelope from "../../src/wire/Envelope.ts";
import * as Frames from "../../src/wire/Frames.ts";
import * as Lane from "../../src/wire/Lane.ts";
import {
  connect,
  envelopeFrom,
  makeAgent,
  random,
  routerSigner,
  silent,
  startBench,
  until,
} from "../Fixture.ts";
import { deliverFrame, readyFrame, routerInstanceId, startScripted, type Visit } from "./ScriptedRouter.ts";

const ada = makeAgent(1);
const bob = makeAgent(2);
const outsider = makeAgent(3);
const lane = Lane.laneOf(envelopeFrom(ada, [ada], "x").envelope.recipientAgentIds);

verifies(
  "RTR-40",
  "a Router with another key than the pinned one learns nothing, not even who called",
  async () => {
    const other = Ed25519.signerFromSeed(Buffer.alloc(32, 6)).publicKey;
    const router = await startScripted({ challenge: { routerKey: other } });
    const told = connect(router, ada);
    const { text, envelope } = envelopeFrom(ada, [ada], "secret");
    void told.client.send(text, envelope.messageId);
    await told.until(() => told.disconnects.length === 2);
    expect(told.disconnects).toEqual(["wrong-router-key", "wrong-router-key"]);
    expect(router.helloFrames).toEqual([]);
    expect(told.client.connected).toBe(false);
    await told.client.close();
    await router.close();
  },
);

verifies("RTR-26", "a client refuses a plain URL off loopback and one that is none", () => {
  const options = {
    routerKey: routerSigner.publicKey,
    card: ada.card,
    signer: ada.signer,
    verifier: Ed25519.verifier,
    random,
    logger: silent,
    onReady: () => {},
    onDeliver: () => {},
    onGap: () => {},
    onDisconnected: () => {},
  };
  for (const url of ["ws://example.org", "http://127.0.0.1", "ws://127.0.0.1.example.org", "router", ""]) {
    expect(() => createRouterClient({ ...options, url }), url).toThrow(RangeError);
  }
  for (const url of ["wss://example.org", "ws://127.0.0.1:1", "ws://localhost:1", "ws://[::1]:1"]) {
    expect(createRouterClient({ ...options, url }).connected).toBe(false);
  }
});

verifies("RTR-41", "every refusal reaches the endpoint by its name, and the client tries again", async () => {
  const reasons = [
    "bad-card",
    "bad-signature",
    "bad-nonce",
    "unsupported-version",
    "overloaded",
    "superseded",
  ] as const;
  const router = await startScripted({
    answer: (n) => {
      const reason = reasons[n - 1];
      return reason === undefined
        ? readyFrame({ tailCursor: 4 })
        : Frames.encode({ kind: "refused", reason });
    },
  });
  const told = connect(router, ada);
  await told.until(() => told.readies.length === 1);
  expect(told.disconnects).toEqual(reasons);
  expect(told.readies[0]).toEqual({
    routerInstanceId,
    acknowledgedCursor: 0,
    tailCursor: 4,
    acceptedSends: 0,
  });
  expect(told.client.connected).toBe(true);
  await told.client.close();
  await router.close();
});

verifies(
  "RTR-41",
  "an absent Router is unreachable, a vanished one a lost connection, a mute one a lost heartbeat",
  async () => {
    const router = await startScripted({ autoPong: false });
    const told = connect(router, ada, { limits: { heartbeatMs: 10 } });
    await told.until(() => told.disconnects.length === 1);
    const visit = await router.visit(2);
    visit.socket.terminate();
    await told.until(() => told.disconnects.length === 2);
    await router.close();
    await told.until(() => told.disconnects.length >= 4);
    expect(told.disconnects.slice(0, 2)).toEqual(["heartbeat-lost", "connection-lost"]);
    expect(told.disconnects.at(-1)).toBe("unreachable");
    await told.client.close();
  },
);

verifies(
  "RTR-41",
  "of two endpoints with one identity the older is told that it was superseded",
  async () => {
    const bench = await startBench();
    const older = connect(bench.router, ada, { limits: { backoffMsMax: 60_000 } });
    await older.until(() => older.readies.length === 1);
    const newer = connect(bench.router, ada);
    await older.until(() => older.disconnects.length === 1);
    expect(older.disconnects).toEqual(["superseded"]);
    expect([older.client.connected, newer.client.connected]).toEqual([false, true]);
    await Promise.all([older, newer].map(({ client }) => client.close()));
    await bench.close();
  },
);

verifies(
  "RTR-47",
  "delays double from the minimum to the maximum, each in its upper half, and start over",
  () => {
    const limits = { backoffMsMin: Limits.backoffMsMin, backoffMsMax: Limits.backoffMsMax };
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 4, maxLength: 4 }), (bytes) => {
        const backoff = makeBackoff(() => bytes, limits);
        for (let round = 0; round < 2; round++) {
          for (let n = 0; n < 40; n++) {
            const whole = Math.min(30_000, 100 * 2 ** n);
            const delay = backoff.next();
            expect(delay).toBeGreaterThanOrEqual(whole / 2);
            expect(delay).toBeLessThan(whole);
          }
          backoff.reset();
        }
        expect(backoff.slowest()).toBeGreaterThanOrEqual(15_000);
      }),
    );
  },
);

const sendAll = (told: ReturnType<typeof connect>, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const { text, envelope } = envelopeFrom(ada, [ada], `${i}`);
    return { text, outcome: told.client.send(text, envelope.messageId) };
  });

const textsOf = (visit: Visit): ReadonlyArray<string> =>
  visit.frames.flatMap((frame) => (frame.kind === "send" ? [frame.envelopeText] : []));

const accept = (visit: Visit, frame: Frames.ClientFrame, sequence: number): void => {
  if (frame.kind === "send") {
    visit.write(Frames.encode({ kind: "accepted", requestId: frame.requestId, lane, sequence }));
  }
};

verifies(
  "RTR-42",
  "sends without a verdict are repeated unchanged, in order, before later ones",
  async () => {
    let sequence = 0;
    let silentAfter = 2;
    const router = await startScripted({
      onFrame: (visit, frame) => {
        if (silentAfter > 0) accept(visit, frame, ++sequence);
        silentAfter -= 1;
      },
    });
    const told = connect(router, ada);
    const sends = sendAll(told, 5);
    const first = await router.visit(1);
    await until(() => textsOf(first).length >= 5);
    expect(await sends[1]?.outcome).toEqual({ kind: "accepted", lane, sequence: 2 });
    silentAfter = Infinity;
    first.socket.terminate();
    const later = sendAll(told, 2);
    const all = [...sends, ...later];
    const outcomes = await Promise.all(all.map(({ outcome }) => outcome));
    expect(outcomes.map((outcome) => outcome.kind === "accepted" && outcome.sequence)).toEqual([
      1, 2, 3, 4, 5, 6, 7,
    ]);
    expect(textsOf(await router.visit(2))).toEqual(all.slice(2).map(({ text }) => text));
    await told.client.close();
    await router.close();
  },
);

verifies("RTR-42", "no more than the window of sends is on the wire without an answer", async () => {
  const router = await startScripted();
  const told = connect(router, ada, { limits: { clientInFlightMax: 3 } });
  const sends = sendAll(told, 5);
  const visit = await router.visit(1);
  const received = async (count: number): Promise<void> => {
    await until(() => textsOf(visit).length >= count);
    const pong = new Promise((resolve) => visit.socket.once("pong", resolve));
    visit.socket.ping();
    await pong;
    expect(textsOf(visit)).toHaveLength(count);
  };
  await received(3);
  accept(visit, visit.frames[0] as Frames.ClientFrame, 1);
  await received(4);
  expect(await sends[0]?.outcome).toMatchObject({ kind: "accepted" });
  await told.client.close();
  for (const { outcome } of sends.slice(1))
    expect(await outcome).toEqual({ kind: "rejected", reason: "unavailable" });
  await router.close();
});

verifies("RTR-43", "a send refused for now is repeated with everything behind it, in order", async () => {
  let refusals = 0;
  let sequence = 0;
  const router = await startScripted({
    onFrame: (visit, frame) => {
      if (frame.kind !== "send") return;
      const refuse = refusals < 3 && (sequence === 1 || refusals > 0);
      if (refuse) {
        refusals += 1;
        const reason = refusals === 1 ? "rate-limited" : "unavailable";
        visit.write(Frames.encode({ kind: "rejected", requestId: frame.requestId, reason }));
      } else accept(visit, frame, ++sequence);
    },
  });
  const told = connect(router, ada);
  const sends = sendAll(told, 4);
  const outcomes = await Promise.all(sends.map(({ outcome }) => outcome));
  expect(outcomes.map((outcome) => outcome.kind === "accepted" && outcome.sequence)).toEqual([1, 2, 3, 4]);
  const sent = textsOf(await router.visit(1));
  const texts = sends.map(({ text }) => text);
  expect(sent).toEqual([...texts, ...texts.slice(1)]);
  await told.client.close();
  await router.close();
});

verifies("RTR-43", "any other rejection is final, and does not hold up what follows", async () => {
  const router = await startScripted({
    onFrame: (visit, frame) => {
      if (frame.kind !== "send") return;
      if (frame.requestId !== 2) return accept(visit, frame, frame.requestId);
      visit.write(Frames.encode({ kind: "rejected", requestId: 2, reason: "idempotency-conflict" }));
    },
  });
  const told = connect(router, ada);
  const outcomes = await Promise.all(sendAll(told, 3).map(({ outcome }) => outcome));
  expect(outcomes).toEqual([
    { kind: "accepted", lane, sequence: 1 },
    { kind: "rejected", reason: "idempotency-conflict" },
    { kind: "accepted", lane, sequence: 3 },
  ]);
  await told.client.close();
  await router.close();
});

verifies(
  "RTR-44",
  "deliveries wait for the endpoint one by one, and verdicts do not wait behind them",
  async () => {
    const router = await startScripted({ onFrame: (visit, frame) => accept(visit, frame, 1) });
    const gate = Promise.withResolvers<void>();
    const handled: Array<number> = [];
    let running = 0;
    const told = connect(router, ada, {
      onDeliver: async ({ cursor }) => {
        running += 1;
        expect(running).toBe(1);
        if (cursor === 1) await gate.promise;
        handled.push(cursor);
        running -= 1;
      },
      onGap: ({ fromCursor }) => {
        expect(running).toBe(0);
        handled.push(fromCursor);
      },
    });
    const visit = await router.visit(1);
    for (const cursor of [1, 2, 3]) visit.write(deliverFrame(cursor, envelopeFrom(ada, [ada], "x")));
    visit.write(Frames.encode({ kind: "gap", fromCursor: 4, toCursor: 4 }));
    const [send] = sendAll(told, 1);
    expect(await send?.outcome).toMatchObject({ kind: "accepted" });
    expect(handled).toEqual([]);
    gate.resolve();
    await until(() => handled.length >= 4);
    expect(handled).toEqual([1, 2, 3, 4]);
    await told.client.close();
    await router.close();
  },
);

verifies(
  "RTR-44",
  "a Router that ignores its window is read no further while the endpoint is behind",
  async () => {
    const router = await startScripted();
    const gate = Promise.withResolvers<void>();
    let handled = 0;
    const told = connect(router, ada, {
      onDeliver: async () => {
        await gate.promise;
        handled += 1;
      },
    });
    const visit = await router.visit(1);
    const large = envelopeFrom(ada, [ada], Buffer.alloc(350_000));
    const count = 100;
    for (let cursor = 1; cursor <= count; cursor++) visit.write(deliverFrame(cursor, large, { sequence: 1 }));
    // What the client does not read stays with its sender: tens of megabytes, however long one waits.
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(visit.socket.bufferedAmount).toBeGreaterThan(20_000_000);
    gate.resolve();
    await until(() => handled >= count);
    await told.client.close();
    await router.close();
  },
);

verifies(
  "RTR-44",
  "a delivery that the endpoint fails to take comes again on the next connection",
  async () => {
    const router = await startScripted();
    const seen: Array<number> = [];
    const told = connect(router, ada, {
      onDeliver: ({ cursor }) => {
        seen.push(cursor);
        if (seen.length === 1) throw new Error("disk full");
        return seen.length === 2 ? Promise.reject(new Error("disk full")) : undefined;
      },
    });
    for (const n of [1, 2, 3]) {
      const visit = await router.visit(n);
      for (const cursor of [1, 2]) visit.write(deliverFrame(cursor, envelopeFrom(ada, [ada], "x")));
      if (n < 3) await told.until(() => told.disconnects.length === n);
    }
    await until(() => seen.length >= 4);
    expect(seen).toEqual([1, 1, 1, 2]);
    expect(told.disconnects).toEqual(["delivery-failed", "delivery-failed"]);
    await told.client.close();
    await router.close();
  },
);

const good = envelopeFrom(ada, [ada, bob], "x");
const breaches: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ["a lane head signed by another key", [deliverFrame(1, good, { signer: bob.signer })]],
  ["a lane head for another sequence", [deliverFrame(1, good, { signature: signatureOf(2) })]],
  ["a lane that the recipients do not make", [deliverFrame(1, good, { lane })]],
  ["an envelope for others", [deliverFrame(1, envelopeFrom(bob, [bob, outsider], "x"))]],
  ["a cursor that leaves a hole", [deliverFrame(2, good)]],
  ["a cursor that comes twice", [deliverFrame(1, good), deliverFrame(1, good)]],
  [
    "a gap before what was delivered",
    [deliverFrame(1, good), Frames.encode({ kind: "gap", fromCursor: 1, toCursor: 2 })],
  ],
  ["a verdict on nothing", [Frames.encode({ kind: "accepted", requestId: 1, lane, sequence: 1 })]],
  ["a second ready", [readyFrame()]],
  [
    "a second challenge",
    [Frames.encode({ kind: "challenge", nonce: lane, routerInstanceId, routerKey: routerSigner.publicKey })],
  ],
  ["a frame that is none", ["{}"]],
  ["a frame that only a client sends", ['{"cursor":1,"kind":"ack"}']],
];

function signatureOf(sequence: number) {
  const of = Lane.laneOf(good.envelope.recipientAgentIds);
  const laneHead = Lane.laneHeadOf({
    lane: of,
    previous: null,
    sequence: 1,
    envelopeDigest: Envelope.digestOf(good.envelope),
  });
  return Lane.sign(routerSigner, { routerInstanceId, lane: of, sequence, laneHead });
}

verifies(
  "RTR-45",
  "whatever a Router breaks ends that connection, and nothing behind the breach is handed over",
  async () => {
    const router = await startScripted();
    const told = connect(router, ada);
    for (const [n, [name, frames]] of breaches.entries()) {
      const visit = await router.visit(n + 1);
      const before = told.deliveries.length;
      for (const frame of [...frames, deliverFrame(frames.length + 1, good)]) visit.write(frame);
      await told.until(() => told.disconnects.length === n + 1);
      expect(told.disconnects.at(-1), name).toBe("protocol-error");
      expect(told.deliveries.length - before, name).toBeLessThanOrEqual(frames.length - 1);
    }
    await told.client.close();
    await router.close();
  },
);

verifies("RTR-45", "what a client hands over names the digest of the very bytes that came", async () => {
  const router = await startScripted();
  const told = connect(router, ada);
  (await router.visit(1)).write(deliverFrame(1, good));
  await told.until(() => told.deliveries.length === 1);
  const [delivery] = told.deliveries;
  expect(delivery).toMatchObject({ cursor: 1, sequence: 1, envelope: good.envelope });
  expect(delivery?.envelopeDigest).toBe(Envelope.digestOf(good.envelope));
  await told.client.close();
  await router.close();
});

verifies(
  "RTR-46",
  "acknowledgments of one turn leave as one, and a new connection says them again",
  async () => {
    const router = await startScripted({ answer: (n) => readyFrame({ tailCursor: n === 3 ? 1 : 5 }) });
    const told = connect(router, ada, { acknowledges: false });
    const first = await router.visit(1);
    for (const cursor of [1, 2, 3]) first.write(deliverFrame(cursor, good));
    await told.until(() => told.deliveries.length === 3);
    for (const cursor of [2, 1, 3]) told.client.ack(cursor);
    // Beyond everything that the Router ever named: it would end the connection.
    told.client.ack(6);
    await until(() => first.frames.length > 0);
    first.socket.terminate();
    const second = await router.visit(2);
    await until(() => second.frames.length > 0);
    second.socket.terminate();
    // A Router that was rolled back below what was acknowledged is not told of it.
    const third = await router.visit(3);
    third.write(deliverFrame(1, good));
    const { text, envelope } = envelopeFrom(ada, [ada], "later");
    void told.client.send(text, envelope.messageId);
    await until(() => third.frames.length > 0);
    expect([first, second, third].map(({ frames }) => frames.map(({ kind }) => kind))).toEqual([
      ["ack"],
      ["ack"],
      ["send"],
    ]);
    expect([...first.frames, ...second.frames]).toEqual([
      { kind: "ack", cursor: 3 },
      { kind: "ack", cursor: 3 },
    ]);
    await told.client.close();
    await router.close();
  },
);

verifies("RTR-46", "an endpoint acknowledges what its disk knows as soon as it is ready", async () => {
  const router = await startScripted({ answer: () => readyFrame({ acknowledgedCursor: 1, tailCursor: 4 }) });
  const client: { ack?: (cursor: number) => void } = {};
  const told = connect(router, ada, { onReady: () => client.ack?.(3) });
  client.ack = told.client.ack;
  const visit = await router.visit(1);
  await until(() => visit.frames.length > 0);
  expect(visit.frames).toEqual([{ kind: "ack", cursor: 3 }]);
  visit.write(deliverFrame(4, good));
  await told.until(() => told.deliveries.length === 1);
  expect(told.disconnects).toEqual([]);
  await told.client.close();
  await router.close();
});
