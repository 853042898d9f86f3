import { expect } from "vitest";
import type { Log } from "@social-harness/log/Log";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { OperationId, PrincipalId, SealingKey } from "@social-harness/protocol/identity/Identifier";
import type { AdmissionCredential } from "@social-harness/registry/Admission";
import * as Entry from "@social-harness/registry/Entry";
import type { Registration } from "@social-harness/registry/Registration";
import * as Wire from "@social-harness/registry/Wire";
import { verifies } from "@social-harness/testkit/Verifies";
import { join } from "node:path";
import {
  agentOf,
  bearer,
  bytesOf,
  nameOf,
  registrySigner,
  sendJson,
  startNetwork,
  temporaryFolder,
} from "../TestNetwork.ts";

const entriesOf = async (log: Log): Promise<ReadonlyArray<Entry.Entry>> =>
  (await log.read(Entry.stream, 1)).map(({ bytes }) => Entry.decode(bytes));

const register = async (
  url: string,
  registration: Registration,
  credential?: AdmissionCredential | string,
): Promise<string> => {
  const headers = credential === undefined ? {} : bearer(credential);
  const { status, text } = await sendJson(url, Wire.registerPath, registration, headers);
  const { kind = "", error = "" } = JSON.parse(text) as { kind?: string; error?: string };
  return status === 200 ? kind : `${status} ${error}`;
};

verifies(["IDN-23", "IDN-24"], "a registration binds name and keys in a card that verifies", async () => {
  const { client, log, lines } = await startNetwork();
  const { registration } = agentOf("alice");
  const answer = await client.register(registration, null);
  if (answer.kind !== "registered") throw new Error(answer.kind);
  const card = answer.agentCard;
  expect(AgentCard.verify(Ed25519.verifier, registrySigner.publicKey, card)).toBe(true);
  expect(card).toMatchObject({
    agentName: "alice",
    principalId: registration.principalId,
    signingKey: registration.signingKey,
    sealingKey: registration.sealingKey,
    keySignature: registration.keySignature,
    issuedAt: expect.stringMatching(/^2026-11-30T12:00:\d\dZ$/),
  });
  expect(await entriesOf(log)).toMatchObject([{ kind: "identity", inviteId: null, agentCard: card }]);
  expect(lines.filter(({ event }) => event === "registration")).toMatchObject([
    { level: "info", fields: { result: "registered", agentName: "alice" } },
  ]);
});

verifies("IDN-25", "the same request gets the original card for ever, a changed one conflicts", async () => {
  const { url, client, log } = await startNetwork();
  const alice = agentOf("alice");
  const first = await client.register(alice.registration, null);
  const bob = agentOf("bob");
  await client.register(bob.registration, null);
  for (let i = 0; i < 3; i++) expect(await client.register(alice.registration, null)).toEqual(first);
  const changed = [
    { agentName: nameOf("alicia") },
    { agentName: nameOf("bob") },
    { principalId: PrincipalId.fromBytes(bytesOf("other", 16)) },
    { sealingKey: SealingKey.fromBytes(bytesOf("other", 32)) },
  ];
  for (const change of changed) {
    expect(await register(url, agentOf("alice", change, "alice").registration)).toBe("idempotency_conflict");
  }
  expect(await log.tail(Entry.stream)).toBe(2);
});

verifies(
  "IDN-25",
  "an operation id belongs to its signing key: another key may use the same one",
  async () => {
    const { url } = await startNetwork();
    const alice = agentOf("alice");
    expect(await register(url, alice.registration)).toBe("registered");
    const { operationId } = alice.wish;
    expect(await register(url, agentOf("bob", { operationId }).registration)).toBe("registered");
  },
);

verifies("IDN-24", "a refused request leaves nothing behind and may be tried again", async () => {
  const { url, log, invites } = await startNetwork({ admission: "invite" });
  const { credential } = await invites.create(3);
  expect(await register(url, agentOf("alice").registration, credential)).toBe("registered");
  const taken = agentOf("alice", {}, "second").registration;
  expect(await register(url, taken, credential)).toBe("name_taken");
  expect(await register(url, taken, credential)).toBe("name_taken");
  const renamed = agentOf("alice-two", {}, "second").registration;
  expect(await register(url, renamed, credential)).toBe("registered");
  expect(await invites.list()).toMatchObject([{ uses: 3, used: 2 }]);
  expect(await log.tail(Entry.stream)).toBe(3);
});

verifies("IDN-24", "operation comes before admission, admission before key, key before name", async () => {
  const { url, invites } = await startNetwork({ admission: "invite" });
  const { credential } = await invites.create(1);
  const alice = agentOf("alice").registration;
  expect(await register(url, alice, credential)).toBe("registered");
  const operationId = OperationId.fromBytes(bytesOf("later", 16));
  const otherOperation = agentOf("alice", { operationId }).registration;
  // Everything is wrong with these at once: a spent credential, a used key, a taken name.
  expect(await register(url, alice, credential)).toBe("registered");
  expect(await register(url, alice)).toBe("registered");
  expect(await register(url, agentOf("bob", {}, "alice").registration)).toBe("idempotency_conflict");
  expect(await register(url, otherOperation, credential)).toBe("admission_refused");
  const fresh = await invites.create(9);
  expect(await register(url, otherOperation, fresh.credential)).toBe("key_already_registered");
  expect(await register(url, agentOf("alice", {}, "new").registration, fresh.credential)).toBe("name_taken");
});

verifies(
  ["IDN-41", "IDN-24"],
  "missing, malformed, unknown, spent and revoked credentials get one and the same answer",
  async () => {
    const { url, invites } = await startNetwork({ admission: "invite" });
    const spent = await invites.create(1);
    const revoked = await invites.create(5);
    expect(await register(url, agentOf("first").registration, spent.credential)).toBe("registered");
    expect(await register(url, agentOf("second").registration, revoked.credential)).toBe("registered");
    expect(await invites.revoke(revoked.inviteId)).toEqual({ kind: "revoked" });
    const unknown = `adm_${"A".repeat(43)}`;
    const { registration } = agentOf("third");
    const answers = new Set<string>();
    for (const credential of [undefined, "x", unknown, spent.credential, revoked.credential]) {
      const headers = credential === undefined ? {} : bearer(credential);
      const { status, text } = await sendJson(url, Wire.registerPath, registration, headers);
      answers.add(`${status} ${text}`);
    }
    const basic = { authorization: `Basic ${spent.credential}` };
    const { status, text } = await sendJson(url, Wire.registerPath, registration, basic);
    answers.add(`${status} ${text}`);
    expect([...answers]).toEqual(['200 {"kind":"admission_refused"}']);
    expect(await register(url, agentOf("second").registration)).toBe("registered");
  },
);

verifies("IDN-41", "a counted invite admits exactly its number, whoever comes at once", async () => {
  const { url, invites } = await startNetwork({ admission: "invite" });
  const { credential } = await invites.create(5);
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, i) => register(url, agentOf(`agent-${i}`).registration, credential)),
  );
  expect(results.filter((kind) => kind === "registered")).toHaveLength(5);
  expect(results.filter((kind) => kind === "admission_refused")).toHaveLength(15);
  expect(await invites.list()).toMatchObject([{ uses: 5, used: 5, state: "spent" }]);
});

verifies("IDN-26", "of 20 concurrent registrations of one name exactly one gets it", async () => {
  const { url, log } = await startNetwork();
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, i) => register(url, agentOf("wanted", {}, `seed-${i}`).registration)),
  );
  expect(results.filter((kind) => kind === "registered")).toHaveLength(1);
  expect(results.filter((kind) => kind === "name_taken")).toHaveLength(19);
  expect(await log.tail(Entry.stream)).toBe(1);
});

verifies("IDN-26", "two Registries over one log file give each name, key and operation once", async () => {
  const path = join(temporaryFolder(), "log.sqlite");
  const logs = [openSqliteLog(path), openSqliteLog(path)];
  const networks = await Promise.all(logs.map((log) => startNetwork({ log })));
  const urls = networks.map(({ url }) => url);
  const attempts = Array.from({ length: 40 }, (_, i) => {
    const url = urls[i % 2] as string;
    if (i < 20) return register(url, agentOf("wanted", {}, `seed-${i}`).registration);
    return register(url, agentOf("same-request").registration);
  });
  const results = await Promise.all(attempts);
  expect(results.slice(0, 20).filter((kind) => kind === "registered")).toHaveLength(1);
  expect(new Set(results.slice(20))).toEqual(new Set(["registered"]));
  expect(await logs[0]?.tail(Entry.stream)).toBe(2);
  const keyRace = await Promise.all(
    urls.map((url, i) =>
      register(
        url,
        agentOf(`key-${i}`, { operationId: OperationId.fromBytes(bytesOf(`op${i}`, 16)) }, "key")
          .registration,
      ),
    ),
  );
  expect(keyRace.toSorted()).toEqual(["key_already_registered", "registered"]);
  for (const { running } of networks) await running.close();
  for (const log of logs) await log.close();
});

verifies("IDN-23", "a wrong proof of possession is 401 and registers nothing", async () => {
  const { url, log } = await startNetwork();
  const alice = agentOf("alice").registration;
  const mallory = agentOf("mallory").registration;
  const elsewhere = agentOf("alice", { registryKey: mallory.signingKey }).registration;
  // Proven by its own key, but the agent never bound these keys to its name: a card from it would verify nowhere.
  const { signature: _, ...unsigned } = { ...alice, keySignature: mallory.keySignature };
  const unbound = { ...unsigned, signature: agentOf("alice").signer.sign("registration", unsigned) };
  const wrong: ReadonlyArray<Registration> = [
    unbound,
    { ...alice, signature: mallory.signature },
    { ...alice, keySignature: mallory.keySignature },
    { ...alice, agentName: nameOf("alicf") },
    { ...alice, principalId: mallory.principalId },
    { ...alice, operationId: mallory.operationId },
    { ...alice, sealingKey: mallory.sealingKey },
    { ...alice, signingKey: mallory.signingKey },
    { ...alice, registryKey: mallory.signingKey },
    elsewhere,
    { ...alice, signingKey: "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" as Registration["signingKey"] },
  ];
  for (const registration of wrong) {
    expect(await register(url, registration)).toBe("401 authentication_failed");
  }
  expect(await log.tail(Entry.stream)).toBe(0);
  expect(await register(url, alice)).toBe("registered");
});

verifies("IDN-23", "a sealing key that would give its secrets away is refused", async () => {
  const { url } = await startNetwork();
  const sealingKey = SealingKey.fromBytes(new Uint8Array(32));
  expect(await register(url, agentOf("alice", { sealingKey }).registration)).toBe("400 malformed");
});

verifies("IDN-32", "C67: names outside the grammar are refused, so no two names look alike", async () => {
  const { url, log } = await startNetwork();
  const lookAlikes = [
    "аlice", // Cyrillic a
    "alice​", // zero-width space
    "‮ecila", // right-to-left override
    "ａｌｉｃｅ", // fullwidth
    "alıce", // dotless i
    "Alice",
    "ALICE",
    "alice.",
    "alice ",
    " alice",
    "alice\n",
    "alice\0",
    "al--ice",
    "-alice",
    "alice-",
    "alice_1",
    "al",
    "a".repeat(33),
    "",
    "agent:alice",
    "alice,bob",
  ];
  for (const name of lookAlikes) {
    expect([name, await register(url, agentOf(name).registration)]).toEqual([name, "400 malformed"]);
    const looked = await sendJson(url, Wire.lookupPath, { agentName: name });
    expect([looked.status, looked.text]).toEqual([400, '{"error":"malformed"}']);
  }
  expect(await log.tail(Entry.stream)).toBe(0);
  for (const name of ["abc", "a".repeat(32), "a1-b2-c3", "123"]) {
    expect(await register(url, agentOf(name).registration)).toBe("registered");
  }
});
