import { expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as Limits from "@social-harness/protocol/Limits";
import * as Wire from "@social-harness/registry/Wire";
import { verifies } from "@social-harness/testkit/Verifies";
import { agentOf, bytesOf, clientOf, nameOf, registrySigner } from "../TestNetwork.ts";
import { cardOf, saying, startFake, writeBytes, type Answer } from "./FakeRegistry.ts";

const invalid = expect.objectContaining({ name: "RegistryError", reason: "invalid-answer" });
const wrongKey = expect.objectContaining({ name: "RegistryError", reason: "wrong-registry-key" });
const impostor = Ed25519.signerFromSeed(bytesOf("impostor", 32));

/** A client of a Registry that gives this one answer. */
const toldBy = async (answer: Answer) => clientOf((await startFake(answer)).url);

const found = (agentCard: CanonicalJson.Json): Answer => saying({ kind: "found", agentCard });
const page = (names: ReadonlyArray<string>, hasMore = false): Answer =>
  saying({ kind: "page", agentCards: names.map((name) => cardOf(name)), hasMore });

verifies("IDN-51", "a good card is believed only for the name or id that was asked", async () => {
  const client = await toldBy(found(cardOf("mallory")));
  await expect(client.lookupByName(nameOf("alice"))).rejects.toEqual(invalid);
  await expect(client.lookupById(cardOf("alice").agentId)).rejects.toEqual(invalid);
  expect(await client.lookupByName(nameOf("mallory"))).toEqual(cardOf("mallory"));
});

verifies("IDN-50", "C69: a card that names its own Registry key widens no trust", async () => {
  const client = await toldBy(found(cardOf("alice", impostor)));
  await expect(client.lookupByName(nameOf("alice"))).rejects.toEqual(invalid);
  const relabelled = await toldBy(
    found({ ...cardOf("alice", impostor), registryKey: registrySigner.publicKey }),
  );
  await expect(relabelled.lookupByName(nameOf("alice"))).rejects.toEqual(invalid);
  const withAddress = await toldBy(found({ ...cardOf("alice"), registryUrl: "https://elsewhere.example" }));
  await expect(withAddress.lookupByName(nameOf("alice"))).rejects.toEqual(invalid);
  const signed: AgentCard.AgentCard = { ...cardOf("alice", impostor), agentName: nameOf("alice") };
  const { signature: _, ...unsigned } = signed;
  const forged = await toldBy(found({ ...unsigned, signature: impostor.sign("agent-card", unsigned) }));
  await expect(forged.lookupByName(nameOf("alice"))).rejects.toEqual(invalid);
  const pinnedElsewhere = clientOf((await startFake(found(cardOf("alice")))).url, impostor.publicKey);
  await expect(pinnedElsewhere.lookupByName(nameOf("alice"))).rejects.toEqual(wrongKey);
});

verifies(
  "IDN-50",
  "a Registry cannot give an agent's id to another key or swap its sealing key",
  async () => {
    const alice = cardOf("alice");
    const mallory = cardOf("mallory");
    const resigned = (change: Partial<AgentCard.AgentCard>): AgentCard.AgentCard => {
      const { signature: _, ...unsigned } = { ...alice, ...change };
      return { ...unsigned, signature: registrySigner.sign("agent-card", unsigned) };
    };
    const forgeries = [
      resigned({ sealingKey: mallory.sealingKey }),
      resigned({ principalId: mallory.principalId }),
      resigned({ agentName: nameOf("alice-b") }),
      resigned({ signingKey: mallory.signingKey }),
      resigned({ signingKey: mallory.signingKey, keySignature: mallory.keySignature }),
      resigned({ agentId: mallory.agentId }),
      resigned({ keySignature: mallory.keySignature }),
    ];
    for (const forgery of forgeries) {
      const client = await toldBy(found(forgery));
      await expect(client.lookupByName(forgery.agentName)).rejects.toEqual(invalid);
      await expect(client.lookupById(forgery.agentId)).rejects.toEqual(invalid);
    }
  },
);

verifies("IDN-61", "answers that prove nothing are not believed of a Registry with another key", async () => {
  const { registration } = agentOf("alice");
  const empty = saying({ kind: "page", agentCards: [], hasMore: false });
  const nothing: ReadonlyArray<Answer> = [
    empty,
    saying({ kind: "not_found" }),
    saying({ kind: "name_taken" }),
    saying({ error: "authentication_failed" }, 401),
    saying({ error: "unavailable" }, 503),
    (_, response) => response.writeHead(204).end(),
  ];
  const named =
    (answer: Answer, keys: string | ReadonlyArray<string>): Answer =>
    (request, response, incoming) => {
      response.setHeader(Wire.registryKeyHeader, keys);
      answer(request, response, incoming);
    };
  const { publicKey } = impostor;
  for (const keys of [
    publicKey,
    "",
    [registrySigner.publicKey, publicKey],
    [publicKey, registrySigner.publicKey],
  ]) {
    for (const answer of nothing) {
      const client = await toldBy(named(answer, keys));
      await expect(client.list({})).rejects.toEqual(wrongKey);
      await expect(client.lookupByName(nameOf("alice"))).rejects.toEqual(wrongKey);
      await expect(client.register(registration, null)).rejects.toEqual(wrongKey);
    }
  }
  const unnamed = await toldBy((request, response, incoming) => {
    response.removeHeader(Wire.registryKeyHeader);
    empty(request, response, incoming);
  });
  await expect(unnamed.list({})).rejects.toEqual(invalid);
  expect(await (await toldBy(empty)).list({})).toMatchObject({ agentCards: [] });
});

verifies("IDN-50", "one flipped bit anywhere in an answer, and it is not believed", async () => {
  const good = CanonicalJson.encodeBytes({ kind: "found", agentCard: cardOf("alice") });
  let flip = -1;
  const { url } = await startFake((_, response) => {
    const bytes = Buffer.from(good);
    if (flip >= 0) bytes[flip] = (bytes[flip] as number) ^ (1 << (flip % 8));
    writeBytes(response, bytes);
  });
  const client = clientOf(url);
  for (flip = 0; flip < good.byteLength; flip++) {
    await expect(client.lookupByName(nameOf("alice"))).rejects.toEqual(invalid);
  }
  flip = -1;
  expect(await client.lookupByName(nameOf("alice"))).toEqual(cardOf("alice"));
});

verifies("IDN-52", "a page is believed only in order, after its lower bound, with its prefix", async () => {
  const after = { afterAgentName: nameOf("bob") };
  const refused: ReadonlyArray<readonly [Answer, Parameters<ReturnType<typeof clientOf>["list"]>[0]]> = [
    [page(["carol", "bob"]), {}],
    [page(["carol", "carol"]), {}],
    [page(["alice", "carol"]), after],
    [page(["bob", "carol"]), after],
    [page(["carol", "dave"]), { prefix: "c" }],
    [page([], true), {}],
    [saying({ kind: "page", agentCards: [cardOf("carol"), cardOf("dave", impostor)], hasMore: false }), {}],
    [saying({ kind: "page", agentCards: [cardOf("carol")] }), {}],
    [saying({ kind: "page", agentCards: [{ ...cardOf("carol"), agentName: "carole" }], hasMore: false }), {}],
  ];
  for (const [answer, request] of refused) {
    await expect((await toldBy(answer)).list(request)).rejects.toEqual(invalid);
  }
  const good = await (await toldBy(page(["carol", "dave"], true))).list({ ...after, prefix: "" });
  expect(good.agentCards.map((card) => card.agentName)).toEqual(["carol", "dave"]);
});

verifies("IDN-52", "a page of the most cards is believed, one more is not", async () => {
  const names = Array.from(
    { length: Limits.agentPageCardsMax + 1 },
    (_, i) => `${"n".repeat(28)}-${100 + i}`,
  );
  const full = await (await toldBy(page(names.slice(0, -1), true))).list({});
  expect(full.agentCards).toHaveLength(Limits.agentPageCardsMax);
  await expect((await toldBy(page(names))).list({})).rejects.toEqual(invalid);
});

verifies(
  "IDN-51",
  "a registration is answered by the card that was asked for, or it is not believed",
  async () => {
    const { registration } = agentOf("alice");
    const register = async (answer: Answer) => (await toldBy(answer)).register(registration, null);
    const registered = (agentCard: CanonicalJson.Json): Answer => saying({ kind: "registered", agentCard });
    for (const card of [
      cardOf("mallory"),
      cardOf("alice", impostor),
      { ...cardOf("alice"), issuedAt: "now" },
    ]) {
      await expect(register(registered(card))).rejects.toEqual(invalid);
    }
    await expect(register(saying({ kind: "found", agentCard: cardOf("alice") }))).rejects.toEqual(invalid);
    await expect(register(saying({ kind: "name_taken", hint: "try alice2" }))).rejects.toEqual(invalid);
    expect(await register(registered(cardOf("alice")))).toEqual({
      kind: "registered",
      agentCard: cardOf("alice"),
    });
    for (const kind of [
      "name_taken",
      "key_already_registered",
      "idempotency_conflict",
      "admission_refused",
    ]) {
      expect(await register(saying({ kind }))).toEqual({ kind });
    }
  },
);

verifies("IDN-51", "a Registry that gives a known name to another key as well is caught", async () => {
  const { registration } = agentOf("alice", {}, "second alice");
  const second = AgentCard.issue(
    registrySigner,
    registration,
    registration.keySignature,
    cardOf("alice").issuedAt,
  );
  const { url } = await startFake((request, response, incoming) => {
    const agentCard = request.body.includes(second.agentId) ? second : cardOf("alice");
    saying({ kind: "found", agentCard })(request, response, incoming);
  });
  const client = clientOf(url);
  expect(await client.lookupByName(nameOf("alice"))).toEqual(cardOf("alice"));
  await expect(client.lookupById(second.agentId)).rejects.toEqual(invalid);
  expect(await client.lookupByName(nameOf("alice"))).toEqual(cardOf("alice"));
  expect(await clientOf(url).lookupById(second.agentId)).toEqual(second);
});

verifies("IDN-51", "answers that are no answer are not believed", async () => {
  const { registration } = agentOf("alice");
  const canonical = CanonicalJson.encode({ kind: "found", agentCard: cardOf("alice") });
  const bodies = [
    "",
    "null",
    "{}",
    `${canonical}\n`,
    canonical.replace(":", ": "),
    "<html>",
    "[".repeat(1_000),
  ];
  for (const body of bodies) {
    const client = await toldBy((_, response) => writeBytes(response, body));
    await expect(client.lookupByName(nameOf("alice"))).rejects.toEqual(invalid);
    await expect(client.register(registration, null)).rejects.toEqual(invalid);
    await expect(client.list({})).rejects.toEqual(invalid);
  }
  const html = await toldBy((_, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end(canonical),
  );
  await expect(html.lookupByName(nameOf("alice"))).rejects.toEqual(invalid);
  const endless = await toldBy((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const more = (): void => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
    };
    response.on("drain", more);
    more();
  });
  await expect(endless.lookupByName(nameOf("alice"))).rejects.toEqual(invalid);
  const elsewhere = await startFake(found(cardOf("alice")));
  const redirecting = await toldBy((_, response) =>
    response.writeHead(307, { location: elsewhere.url }).end(),
  );
  await expect(redirecting.lookupByName(nameOf("alice"))).rejects.toEqual(invalid);
  expect(elsewhere.requests).toEqual([]);
});
