import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Frames from "../../src/wire/Frames.ts";
import * as Lane from "../../src/wire/Lane.ts";
import { connect, envelopeFrom, makeAgent, until } from "../Fixture.ts";
import { accept, startScripted, type Visit } from "./ScriptedRouter.ts";

const ada = makeAgent(1);
const lane = Lane.laneOf(envelopeFrom(ada, [ada], "x").envelope.recipientAgentIds);

const sendAll = (told: ReturnType<typeof connect>, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const { text, envelope } = envelopeFrom(ada, [ada], `${i}`);
    return { text, outcome: told.client.send(text, envelope.messageId) };
  });

const textsOf = (visit: Visit): ReadonlyArray<string> =>
  visit.frames.flatMap((frame) => (frame.kind === "send" ? [frame.envelopeText] : []));

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

verifies(
  "RUN-276",
  "a Router that takes nothing is told once, however often it refuses, and once when it takes",
  async () => {
    let refusals = 0;
    const told: Array<boolean> = [];
    const router = await startScripted({
      onFrame: (visit, frame) => {
        if (frame.kind !== "send") return;
        if (++refusals > 9) return accept(visit, frame, refusals);
        const reason = refusals === 1 ? "rate-limited" : "unavailable";
        visit.write(Frames.encode({ kind: "rejected", requestId: frame.requestId, reason }));
      },
    });
    const { client } = connect(router, ada, { onTaking: (taking) => void told.push(taking) });
    const texts = Array.from({ length: 3 }, (_, i) => envelopeFrom(ada, [ada], `${i}`));
    await Promise.all(texts.map(({ text, envelope }) => client.send(text, envelope.messageId)));
    expect([told, refusals]).toEqual([[false, true], 12]);
    await client.close();
    await router.close();
  },
);

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
