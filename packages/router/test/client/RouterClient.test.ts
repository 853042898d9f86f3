import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import { makeBackoff } from "../../src/client/Backoff.ts";
import { createRouterClient } from "../../src/client/RouterClient.ts";
import * as Limits from "../../src/Limits.ts";
import * as Frames from "../../src/wire/Frames.ts";
import { connect, envelopeFrom, makeAgent, random, routerSigner, silent, startBench } from "../Fixture.ts";
import { accept, readyFrame, routerInstanceId, startScripted } from "./ScriptedRouter.ts";

const ada = makeAgent(1);

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
    await told.until(() => told.readies.length === 2);
    visit.socket.terminate();
    await told.until(() => told.disconnects.length === 2);
    await router.close();
    await told.until(() => told.disconnects.length >= 4);
    expect(told.disconnects.slice(0, 2)).toEqual(["heartbeat-lost", "connection-lost"]);
    expect(told.disconnects.at(-1)).toBe("unreachable");
    await told.client.close();
  },
);

/** A port that takes connections and says nothing, and how many it has taken. */
const startMute = async () => {
  const taken = Promise.withResolvers<void>();
  const server = createServer(() => taken.resolve()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `ws://127.0.0.1:${port}`, taken: taken.promise, close: () => void server.close() };
};

verifies(
  "RUN-291",
  "a connection that is closed while it is made is no error, and nothing is said of it",
  async () => {
    const mute = await startMute();
    const said: Array<ReadonlyArray<unknown>> = [];
    const logger = (...line: ReadonlyArray<unknown>): void => void said.push(line);
    const told = connect({ url: mute.url, routerKey: routerSigner.publicKey }, ada, { logger });
    await mute.taken;
    await told.client.close();
    mute.close();
    expect([said, told.disconnects]).toEqual([[], []]);
  },
);

verifies("RUN-291", "an attempt that failed is one line, with what the socket said", async () => {
  const mute = await startMute();
  mute.close();
  const said: Array<ReadonlyArray<unknown>> = [];
  const logger = (...line: ReadonlyArray<unknown>): void => void said.push(line);
  const told = connect({ url: mute.url, routerKey: routerSigner.publicKey }, ada, { logger });
  await told.until(() => told.disconnects.length === 1);
  await told.client.close();
  const message = expect.stringContaining("ECONNREFUSED");
  expect(said).toEqual([["info", "router disconnected", { reason: "unreachable", message }]]);
});

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

verifies(
  "RTR-47",
  "connections that are lost at each send are made more and more rarely, until one brings a verdict",
  async () => {
    const losses = 12;
    let visits = 0;
    const router = await startScripted({
      onFrame: (visit, frame) => {
        if (++visits > losses) accept(visit, frame, 1);
        setImmediate(() => visit.socket.terminate());
      },
    });
    const told = connect(router, ada, {
      limits: { backoffMsMin: 1, backoffMsMax: 60_000 },
      random: (byteCount) => Buffer.alloc(byteCount, 0xff),
    });
    const { text, envelope } = envelopeFrom(ada, [ada], "lost twelve times");
    const sent = told.client.send(text, envelope.messageId);
    const begun = performance.now();
    await told.until(() => told.disconnects.length === losses);
    expect(performance.now() - begun).toBeGreaterThan(2 ** (losses - 1) - losses);
    expect(await sent).toMatchObject({ kind: "accepted" });
    await told.until(() => told.disconnects.length === losses + 1);
    const lost = performance.now();
    await router.visit(losses + 2);
    // The next delay of the row would be twice as long as all that were before it.
    expect(performance.now() - lost).toBeLessThan(2 ** losses);
    await told.client.close();
    await router.close();
  },
);
