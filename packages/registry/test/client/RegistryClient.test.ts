import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import * as Wire from "@social-harness/registry/Wire";
import { verifies } from "@social-harness/testkit/Verifies";
import * as SelfSigned from "@social-harness/testkit/SelfSigned";
import { agentOf, clientOf, nameOf, registrySigner, startNetwork, temporaryFolder } from "../TestNetwork.ts";
import { cardOf, saying, startFake, writeBytes, type Answer } from "./FakeRegistry.ts";

const failure = (reason: string, rest: object = {}) =>
  expect.objectContaining({ name: "RegistryError", reason, ...rest });

/** A correct Registry of the agents whose names it is asked for, except those that begin with "no". */
const correct: Answer = ({ body }, response) => {
  const asked = JSON.parse(body) as { agentName?: string; agentId?: string };
  const name =
    asked.agentName ?? ["alice", "bob", "carol"].find((each) => cardOf(each).agentId === asked.agentId);
  const answer =
    name === undefined || name.startsWith("no")
      ? { kind: "not_found" }
      : { kind: "found", agentCard: cardOf(name) };
  writeBytes(response, CanonicalJson.encode(answer));
};

verifies("IDN-54", "one request answers all who ask for the same agent at once", async () => {
  const fake = await startFake(correct);
  const client = clientOf(fake.url);
  const cards = await Promise.all(Array.from({ length: 50 }, () => client.lookupByName(nameOf("alice"))));
  expect(new Set(cards)).toEqual(new Set([cardOf("alice")]));
  expect(fake.requests).toHaveLength(1);
  await Promise.all(Array.from({ length: 20 }, () => client.lookupById(cardOf("bob").agentId)));
  expect(fake.requests).toHaveLength(2);
});

verifies("IDN-54", "a verified card is kept by name and by id; that somebody is unknown is not", async () => {
  const fake = await startFake(correct);
  const client = clientOf(fake.url);
  await client.lookupByName(nameOf("alice"));
  await client.lookupByName(nameOf("alice"));
  await client.lookupById(cardOf("alice").agentId);
  expect(fake.requests).toHaveLength(1);
  for (let i = 0; i < 3; i++) expect(await client.lookupByName(nameOf("nobody"))).toBeNull();
  expect(fake.requests).toHaveLength(4);
});

verifies("IDN-54", "the least recently used card is dropped when the cache is full", async () => {
  const fake = await startFake(correct);
  const client = clientOf(fake.url, registrySigner.publicKey, 2);
  for (const name of ["alice", "bob", "alice", "carol", "alice"]) await client.lookupByName(nameOf(name));
  expect(fake.requests).toHaveLength(3);
  await client.lookupById(cardOf("bob").agentId);
  expect(fake.requests).toHaveLength(4);
});

verifies(
  "IDN-54",
  "an outage stops first contact, not agents that were met, and its end needs nothing",
  async () => {
    const network = await startNetwork();
    for (const name of ["alice", "bob"]) await network.client.register(agentOf(name).registration, null);
    const client = clientOf(network.url);
    const alice = await client.lookupByName(nameOf("alice"));
    await network.running.close();
    expect(await client.lookupByName(nameOf("alice"))).toEqual(alice);
    await expect(client.lookupByName(nameOf("bob"))).rejects.toEqual(failure("unavailable"));
    await expect(client.list({})).rejects.toEqual(failure("unavailable"));
    await expect(client.register(agentOf("dave").registration, null)).rejects.toEqual(failure("unavailable"));
    const port = Number(new URL(network.url).port);
    await startNetwork({ log: network.log, listen: { host: "127.0.0.1", port } });
    expect(await client.lookupByName(nameOf("bob"))).toMatchObject({ agentName: "bob" });
  },
);

verifies("IDN-53", "a Registry that never answers is unavailable at the deadline", async () => {
  const silent = await startFake(() => {});
  const client = clientOf(silent.url);
  const options = { deadlineMs: 50 };
  const { registration } = agentOf("alice");
  await Promise.all([
    expect(client.lookupByName(nameOf("alice"), options)).rejects.toEqual(failure("unavailable")),
    expect(client.list({}, options)).rejects.toEqual(failure("unavailable")),
    expect(client.register(registration, null, options)).rejects.toEqual(failure("unavailable")),
  ]);
  const halfway = await startFake((_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).write('{"kind"');
  });
  await expect(clientOf(halfway.url).list({}, options)).rejects.toEqual(failure("unavailable"));
});

verifies("IDN-53", "aborting ends the caller's wait and nobody else's", async () => {
  const held: Array<() => void> = [];
  const fake = await startFake((request, response, incoming) => {
    held.push(() => correct(request, response, incoming));
  });
  const client = clientOf(fake.url);
  const controller = new AbortController();
  const aborted = client.lookupByName(nameOf("alice"), { signal: controller.signal });
  const patient = client.lookupByName(nameOf("alice"));
  const listing = client.list({}, { signal: controller.signal });
  const expectations = [aborted, listing].map((call) => expect(call).rejects.toEqual(failure("aborted")));
  while (held.length < 2) await new Promise((resolve) => setImmediate(resolve));
  controller.abort();
  await Promise.all(expectations);
  for (const release of held) release();
  expect(await patient).toEqual(cardOf("alice"));
  await expect(client.list({}, { signal: AbortSignal.abort() })).rejects.toEqual(failure("aborted"));
});

verifies("IDN-53", "each status is the closed error that it means", async () => {
  const lookUp = async (answer: Answer) =>
    clientOf((await startFake(answer)).url).lookupByName(nameOf("alice"));
  for (const code of Wire.errorCodes) {
    const status = Wire.statusOf[code];
    const expected =
      status >= 500
        ? failure("unavailable", { code: null })
        : status === 429
          ? failure("overloaded", { retryAfterSeconds: 1 })
          : failure("refused", { code });
    await expect(lookUp(saying({ error: code }, status))).rejects.toEqual(expected);
  }
  const waiting: Answer = (_, response) =>
    response.writeHead(429, { "content-type": "text/html", "retry-after": "17" }).end("<html>");
  await expect(lookUp(waiting)).rejects.toEqual(failure("overloaded", { retryAfterSeconds: 17 }));
  await expect(lookUp((_, response) => response.writeHead(502).end("bad gateway"))).rejects.toEqual(
    failure("unavailable"),
  );
  const invalid: ReadonlyArray<Answer> = [
    saying({ error: "malformed" }, 404),
    saying({ error: "teapot" }, 418),
    saying({ error: "malformed", detail: "x" }, 400),
    (_, response) => response.writeHead(400).end(),
    (_, response) => response.writeHead(204).end(),
  ];
  for (const answer of invalid) await expect(lookUp(answer)).rejects.toEqual(failure("invalid-answer"));
});

verifies("IDN-53", "a kept socket that the Registry has closed meanwhile is no failure", async () => {
  const used = new WeakSet<object>();
  let closed = 0;
  // Answers once on each socket; the next request on it meets what a request meets that crosses the closing.
  const fake = await startFake((request, response, incoming) => {
    if (used.has(incoming.socket)) {
      closed++;
      incoming.socket.resetAndDestroy();
      return;
    }
    used.add(incoming.socket);
    correct(request, response, incoming);
  });
  const client = clientOf(fake.url);
  for (let i = 0; i < 5; i++) expect(await client.lookupByName(nameOf(`agent-${i}`))).not.toBeNull();
  expect(closed).toBe(4);
  client.close();
  await expect(client.lookupByName(nameOf("alice"))).rejects.toEqual(failure("unavailable"));
});

/** Looks a name up in a process of its own with this environment, and gives what it printed. */
const lookupInProcess = async (url: string, name: string, env: NodeJS.ProcessEnv): Promise<string> => {
  const script = fileURLToPath(new URL("../LookupProcess.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [script, url, registrySigner.publicKey, name],
    { env: { ...process.env, ...env } },
  );
  return stdout;
};

verifies(
  "IDN-55",
  "a client goes to its Registry and nowhere else, whatever proxy the environment names",
  async () => {
    const network = await startNetwork();
    await network.client.register(agentOf("alice").registration, null);
    let proxied = 0;
    const proxy = createServer((socket) => {
      proxied++;
      socket.destroy();
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    onTestFinished(() => void proxy.close());
    const address = proxy.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const name = `http://127.0.0.1:${address.port}`;
    const printed = await lookupInProcess(network.url, "alice", {
      NODE_USE_ENV_PROXY: "1",
      HTTP_PROXY: name,
      HTTPS_PROXY: name,
      http_proxy: name,
    });
    expect([printed, proxied]).toEqual([cardOf("alice").agentId, 0]);
  },
);

verifies(
  ["IDN-55", "IDN-27"],
  "over TLS a client talks only to a server whose certificate it trusts",
  async () => {
    const listen = { host: "127.0.0.1", port: 0, tls: { cert: SelfSigned.cert, key: SelfSigned.key } };
    const network = await startNetwork({ listen });
    expect(network.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    await expect(network.client.lookupByName(nameOf("alice"))).rejects.toEqual(failure("unavailable"));
    const trusted = join(temporaryFolder(), "ca.pem");
    writeFileSync(trusted, SelfSigned.cert);
    expect(await lookupInProcess(network.url, "alice", { NODE_EXTRA_CA_CERTS: trusted })).toBe("nobody");
  },
);

verifies("IDN-55", "a client is made only for an encrypted Registry or one on loopback", () => {
  const { publicKey: registryKey } = registrySigner;
  for (const url of ["http://registry.example", "ftp://registry.example", "registry.example", ""]) {
    expect(() => makeRegistryClient({ url, registryKey })).toThrow(RangeError);
  }
  makeRegistryClient({ url: "https://registry.example/path/", registryKey }).close();
});
