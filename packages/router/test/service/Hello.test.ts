import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterAll, beforeAll, expect } from "vitest";
import * as Frames from "../../src/wire/Frames.ts";
import * as Hello from "../../src/wire/Hello.ts";
import { envelopeFrom, idOf, makeAgent, startBench, type Agent, type Bench } from "../Fixture.ts";
import { authenticateFrame, call, callAs, type RawCaller } from "./RawCaller.ts";

const ada = makeAgent(1);
const bob = makeAgent(2);
/** Sends nothing and is sent nothing. */
const idle = makeAgent(3);
let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.close());

/** How a connection ends that answers the challenge with these changes. */
const fate = async (agent: Agent, changes: (challenge: Frames.Challenge) => Partial<Frames.Authenticate>) => {
  const caller = call(bench.router.url);
  const challenge = await caller.challenge();
  caller.write(authenticateFrame(agent, challenge, changes(challenge)));
  return ending(caller);
};

const ending = async (caller: RawCaller) => {
  const [frame, end] = [await caller.next(), await caller.next()];
  return { ...frame, end };
};

const refusedFor = (reason: Frames.RefusedReason) => ({
  kind: "refused",
  reason,
  end: { kind: "closed", code: 4001, why: reason },
});

verifies(
  "RTR-25",
  "the card that the pinned Registry issued, and the proof of its key, admit the caller",
  async () => {
    const caller = await callAs(bench.router.url, ada);
    expect(caller.ready).toEqual({ kind: "ready", acknowledgedCursor: 0, tailCursor: 0, acceptedSends: 0 });
    caller.socket.close();
  },
);

verifies("RTR-25", "every challenge has its own nonce and names Router key and instance", async () => {
  const callers = [call(bench.router.url), call(bench.router.url)];
  const [one, two] = await Promise.all(callers.map((caller) => caller.challenge()));
  expect(one?.nonce).not.toBe(two?.nonce);
  const { routerKey, routerInstanceId } = bench.router;
  expect(one).toMatchObject({ routerKey, routerInstanceId });
  for (const { socket } of callers) socket.close();
});

verifies("RTR-25", "a nonce that is not this connection's is refused, although signed", async () => {
  const nonce = Opaque32.fromBytes(Buffer.alloc(32));
  const signed = ({ routerInstanceId }: Frames.Challenge) => ({
    nonce,
    signature: Hello.sign(ada.signer, { nonce, routerInstanceId, agentId: idOf(ada) }),
  });
  expect(await fate(ada, signed)).toEqual(refusedFor("bad-nonce"));
});

verifies("RTR-25", "a card of another Registry, a damaged card and no card at all are refused", async () => {
  const stranger = makeAgent(1, Ed25519.signerFromSeed(Buffer.alloc(32, 8)));
  expect(await fate(stranger, () => ({}))).toEqual(refusedFor("bad-card"));
  const forged = { ...stranger.card, registryKey: ada.card.registryKey };
  const renamed = { ...ada.card, agentName: bob.card.agentName };
  for (const card of [forged, renamed]) {
    expect(await fate(ada, () => ({ agentCard: AgentCard.encode(card) }))).toEqual(refusedFor("bad-card"));
  }
  const junk = "AAAA" as AgentCard.EncodedAgentCard;
  expect(await fate(ada, () => ({ agentCard: junk }))).toEqual(refusedFor("bad-card"));
});

verifies("RTR-25", "another agent's card, another instance and another agent's key are refused", async () => {
  const sign = (signer: Agent, hello: Partial<Hello.Hello>) => (challenge: Frames.Challenge) => ({
    signature: Hello.sign(signer.signer, { ...challenge, agentId: idOf(ada), ...hello }),
  });
  const otherInstance = {
    routerInstanceId: "rti_AAAAAAAAAAAAAAAAAAAAAA" as Frames.Challenge["routerInstanceId"],
  };
  const proofs = [
    sign(bob, {}),
    sign(ada, { agentId: idOf(bob) }),
    sign(ada, otherInstance),
    () => ({ agentCard: AgentCard.encode(bob.card) }),
  ];
  for (const proof of proofs) expect(await fate(ada, proof)).toEqual(refusedFor("bad-signature"));
});

verifies("RTR-24", "a caller of another version is told so", async () => {
  for (const protocols of ["social-harness.router.v2", []]) {
    expect(await ending(call(bench.router.url, protocols))).toEqual(refusedFor("unsupported-version"));
  }
  const both = call(bench.router.url, ["social-harness.router.v2", Frames.subprotocol]);
  await both.challenge();
  expect(both.socket.protocol).toBe(Frames.subprotocol);
  both.socket.close();
});

verifies(
  "RTR-29",
  "a caller beyond the connections that the Router holds is refused as overloaded",
  async () => {
    const small = await startBench({ limits: { connectionsMax: 1 } });
    const first = await callAs(small.router.url, ada);
    expect(await ending(call(small.router.url))).toEqual(refusedFor("overloaded"));
    first.socket.close();
    await small.close();
  },
);

verifies("RTR-29", "a socket that does not finish its hello in time is closed", async () => {
  const hasty = await startBench({ limits: { helloMs: 20 } });
  const caller = call(hasty.router.url);
  await caller.challenge();
  expect(await caller.next()).toEqual({ kind: "closed", code: 1008, why: "hello-timeout" });
  await hasty.close();
});

verifies("RTR-28", "the newer connection of an agent wins, and the older is told", async () => {
  const older = await callAs(bench.router.url, ada);
  const newer = await callAs(bench.router.url, ada);
  expect(await older.next()).toEqual({ kind: "refused", reason: "superseded" });
  expect(await older.next()).toMatchObject({ kind: "closed", code: 4001, why: "superseded" });
  newer.send(1, envelopeFrom(ada, [ada], "note").text);
  expect([(await newer.next()).kind, (await newer.next()).kind]).toEqual(["accepted", "deliver"]);
  newer.socket.close();
});

verifies(
  "RTR-20",
  "garbage, binary, a second hello and frames out of turn end the connection and nothing else",
  async () => {
    const steady = await callAs(bench.router.url, bob);
    const beforeHello: ReadonlyArray<string | Buffer> = [
      "",
      "null",
      "{",
      "\u0000\ufffd",
      '{"cursor":1,"kind":"ack"}',
      Frames.encodeSend(1, envelopeFrom(ada, [ada], "x").text),
      Buffer.from('{"cursor":1,"kind":"ack"}'),
    ];
    for (const frame of beforeHello) {
      const caller = call(bench.router.url);
      await caller.challenge();
      caller.write(frame);
      expect(await caller.next()).toMatchObject({ kind: "closed", code: 1008 });
    }
    for (const frame of [
      "[]",
      '{"kind":"ready"}',
      '{"cursor":0,"kind":"ack"}',
      '{"kind":"send","requestId":"1"}',
    ]) {
      const caller = await callAs(bench.router.url, idle);
      caller.write(frame);
      expect(await caller.next()).toEqual({ kind: "closed", code: 1008, why: "malformed-frame" });
    }
    const twice = await callAs(bench.router.url, idle);
    const challenge = {
      nonce: Opaque32.fromBytes(Buffer.alloc(32)),
      routerInstanceId: bench.router.routerInstanceId,
    };
    twice.write(
      authenticateFrame(ada, { kind: "challenge", routerKey: bench.router.routerKey, ...challenge }),
    );
    expect(await twice.next()).toMatchObject({ kind: "closed", why: "already-authenticated" });
    steady.send(1, envelopeFrom(bob, [bob], "still here").text);
    expect(await steady.next()).toMatchObject({ kind: "accepted" });
    steady.socket.close();
  },
);
