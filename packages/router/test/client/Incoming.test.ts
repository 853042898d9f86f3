import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Envelope from "../../src/wire/Envelope.ts";
import * as Frames from "../../src/wire/Frames.ts";
import * as Lane from "../../src/wire/Lane.ts";
import { connect, envelopeFrom, makeAgent, routerSigner, until } from "../Fixture.ts";
import { accept, deliverFrame, readyFrame, routerInstanceId, startScripted } from "./ScriptedRouter.ts";

const ada = makeAgent(1);
const bob = makeAgent(2);
const outsider = makeAgent(3);
const lane = Lane.laneOf(envelopeFrom(ada, [ada], "x").envelope.recipientAgentIds);

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
    const send = envelopeFrom(ada, [ada], "x");
    expect(await told.client.send(send.text, send.envelope.messageId)).toMatchObject({ kind: "accepted" });
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
