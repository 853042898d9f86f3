import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import { openMemoryLog } from "@social-harness/log/MemoryLog";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { AdmissionCredential } from "@social-harness/registry/Admission";
import type { RegistryClient } from "@social-harness/registry/client/RegistryClient";
import * as Entry from "@social-harness/registry/Entry";
import { load } from "@social-harness/registry/NetworkKeys";
import type { RegisterAnswer } from "@social-harness/registry/Wire";
import { verifies } from "@social-harness/testkit/Verifies";
import { agentOf, bytesOf, clientOf, nameOf, startNetwork, temporaryFolder } from "../TestNetwork.ts";

const script = (name: string): string => fileURLToPath(new URL(`../${name}.ts`, import.meta.url));

/** A network on disk whose Registry runs as a process. */
interface Disk {
  readonly folder: string;
  readonly log: string;
  readonly keys: string;
}

const newDisk = (): Disk => {
  const folder = temporaryFolder();
  return { folder, log: join(folder, "log.sqlite"), keys: join(folder, "network.json") };
};

const startProcess = async (
  disk: Disk,
  admission: "open" | "invite",
): Promise<{ readonly child: ChildProcess; readonly url: string }> => {
  const child = spawn(process.execPath, [script("RegistryProcess"), disk.log, disk.keys, admission, "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, url };
};

const kill = async (child: ChildProcess): Promise<void> => {
  child.kill("SIGKILL");
  await once(child, "exit");
};

const operate = async (disk: Disk, ...command: ReadonlyArray<string>): Promise<unknown> => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    script("OperatorProcess"),
    disk.log,
    disk.keys,
    ...command,
  ]);
  return JSON.parse(stdout);
};

verifies(["IDN-30", "IDN-25"], "a restart keeps cards, invites and answers", async () => {
  const path = join(temporaryFolder(), "log.sqlite");
  const first = openSqliteLog(path);
  const before = await startNetwork({ log: first, admission: "invite" });
  const one = await before.invites.create(1);
  const many = await before.invites.create(10);
  const alice = await before.client.register(agentOf("alice").registration, one.credential);
  await before.client.register(agentOf("bob").registration, many.credential);
  const listed = await before.invites.list();
  const page = await before.client.list({});
  await before.running.close();
  await first.close();
  const second = openSqliteLog(path);
  const after = await startNetwork({ log: second, admission: "invite" });
  expect(await after.client.list({})).toEqual(page);
  expect(await after.invites.list()).toEqual(listed);
  expect(await after.client.register(agentOf("alice").registration, null)).toEqual(alice);
  expect(await after.client.register(agentOf("carol").registration, one.credential)).toEqual({
    kind: "admission_refused",
  });
  await after.running.close();
  await second.close();
});

verifies(
  ["IDN-30", "IDN-25"],
  "killing the Registry under load loses no registration that was answered",
  async () => {
    const disk = newDisk();
    const answered = new Map<string, RegisterAnswer>();
    let next = 0;
    for (const round of [1, 2, 3]) {
      const { child, url } = await startProcess(disk, "open");
      const registryKey = load(disk.keys).registry.publicKey;
      const client = clientOf(url, registryKey);
      const registerUntilKilled = async (): Promise<void> => {
        for (;;) {
          const name = `agent-${next++}`;
          try {
            const { registration } = agentOf(name, { registryKey });
            answered.set(name, await client.register(registration, null, { deadlineMs: 5_000 }));
          } catch {
            return;
          }
          if (answered.size >= round * 40) child.kill("SIGKILL");
        }
      };
      await Promise.all(Array.from({ length: 8 }, registerUntilKilled));
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
    const { child, url } = await startProcess(disk, "open");
    const registryKey = load(disk.keys).registry.publicKey;
    const client = clientOf(url, registryKey);
    for (const [name, answer] of answered) {
      expect(answer.kind).toBe("registered");
      expect(await client.register(agentOf(name, { registryKey }).registration, null)).toEqual(answer);
    }
    // A registration whose answer was lost with the process ends registered all the same.
    for (let i = 0; i < next; i++) {
      const { registration } = agentOf(`agent-${i}`, { registryKey });
      expect(await client.register(registration, null)).toMatchObject({ kind: "registered" });
    }
    await kill(child);
  },
);

verifies("IDN-25", "a retry after a lost answer gets the card, and one identity is in the log", async () => {
  const network = await startNetwork({ admission: "invite" });
  const { credential } = await network.invites.create(1);
  let lost = 0;
  // Passes the request on and drops the connection where the answer should come.
  const losing = createServer((incoming, response) => {
    const { method, headers, url } = incoming;
    const onward = httpRequest(`${network.url}${url}`, { method, headers }, (answer) => {
      lost++;
      answer.resume().on("end", () => response.destroy());
    });
    incoming.pipe(onward);
  });
  losing.listen(0, "127.0.0.1");
  await once(losing, "listening");
  onTestFinished(() => void losing.close());
  const address = losing.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const unlucky = clientOf(`http://127.0.0.1:${address.port}`);
  const { registration } = agentOf("alice");
  await expect(unlucky.register(registration, credential)).rejects.toMatchObject({
    name: "RegistryError",
    reason: "unavailable",
  });
  expect(lost).toBe(1);
  const answer = await network.client.register(registration, credential);
  expect(answer).toMatchObject({ kind: "registered", agentCard: { agentName: "alice" } });
  expect(await network.client.register(registration, null)).toEqual(answer);
  expect(await network.log.tail(Entry.stream)).toBe(2);
});

verifies("IDN-41", "an operator's process creates, lists and revokes while the Registry runs", async () => {
  const disk = newDisk();
  const { child, url } = await startProcess(disk, "invite");
  const registryKey = load(disk.keys).registry.publicKey;
  const client: RegistryClient = clientOf(url, registryKey);
  const register = (name: string, credential: string) =>
    client.register(agentOf(name, { registryKey }).registration, credential as AdmissionCredential);
  const { inviteId, credential } = (await operate(disk, "create", "2")) as Record<string, string>;
  expect(await register("alice", credential as string)).toMatchObject({ kind: "registered" });
  expect(await operate(disk, "list")).toMatchObject([{ inviteId, state: "open", uses: 2, used: 1 }]);
  expect(await operate(disk, "revoke", inviteId as string)).toEqual({ kind: "revoked" });
  expect(await register("bob", credential as string)).toEqual({ kind: "admission_refused" });
  expect(await operate(disk, "revoke", inviteId as string)).toEqual({ kind: "already_revoked" });
  expect(await operate(disk, "revoke", `inv_${"A".repeat(22)}`)).toEqual({ kind: "not_found" });
  expect(await operate(disk, "list")).toMatchObject([{ inviteId, state: "revoked", uses: 2, used: 1 }]);
  await kill(child);
  const stored = readdirSync(disk.folder).map((file) => readFileSync(join(disk.folder, file), "latin1"));
  expect(stored.some((text) => text.includes(inviteId as string))).toBe(true);
  for (const text of stored) expect(text.includes(credential as string)).toBe(false);
});

verifies("IDN-43", "neither the log nor the log lines hold a credential", async () => {
  const network = await startNetwork({ admission: "invite" });
  const { credential, inviteId } = await network.invites.create(1);
  await network.client.register(agentOf("alice").registration, credential);
  await network.client.register(agentOf("bob").registration, credential);
  const entries = await network.log.read(Entry.stream, 1);
  const text = entries.map(({ bytes }) => Buffer.from(bytes).toString()).join("\n");
  expect(text).toContain(inviteId);
  for (const kept of [text, JSON.stringify(network.lines), JSON.stringify(await network.invites.list())]) {
    expect(kept).not.toContain(credential);
    expect(kept).not.toContain(credential.slice(4));
  }
});

verifies(
  "IDN-30",
  "a log of another Registry, or one that contradicts itself, is refused at the start",
  async () => {
    const log = openMemoryLog();
    const { running, client } = await startNetwork({ log });
    await client.register(agentOf("alice").registration, null);
    await running.close();
    const registry = Ed25519.signerFromSeed(bytesOf("another registry", 32));
    await expect(startNetwork({ log, keys: { registry } })).rejects.toThrow("another Registry's key");
    const [entry] = await log.read(Entry.stream, 1);
    await log.append(Entry.stream, entry?.bytes ?? new Uint8Array());
    await expect(startNetwork({ log })).rejects.toThrow("a name given twice");
    const unknown = openMemoryLog();
    await unknown.append(Entry.stream, Buffer.from('{"kind":"identity_removed"}'));
    await expect(startNetwork({ log: unknown })).rejects.toThrow("expected shape");
  },
);

verifies("IDN-31", "look-ups find by name and by id, and lists page in increasing name order", async () => {
  const { client } = await startNetwork();
  const names = Array.from({ length: 230 }, (_, i) => `${i % 3 === 0 ? "x" : "y"}-${(i * 97) % 230}`);
  for (const name of names) await client.register(agentOf(name).registration, null);
  const walk = async (prefix?: string): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
    const pages: Array<ReadonlyArray<string>> = [];
    for (;;) {
      const after = pages.at(-1)?.at(-1);
      const page = await client.list({
        ...(prefix === undefined ? {} : { prefix }),
        ...(after === undefined ? {} : { afterAgentName: nameOf(after) }),
      });
      pages.push(page.agentCards.map((card) => card.agentName));
      if (!page.hasMore) return pages;
    }
  };
  const sorted = names.toSorted();
  expect(await walk()).toEqual([sorted.slice(0, 100), sorted.slice(100, 200), sorted.slice(200)]);
  expect((await walk("y-1")).flat()).toEqual(sorted.filter((name) => name.startsWith("y-1")));
  expect((await walk("zz")).flat()).toEqual([]);
  expect((await client.list({ afterAgentName: nameOf("zzz"), prefix: "x" })).agentCards).toEqual([]);
  const reader = await client.lookupByName(nameOf("x-0"));
  if (reader === null) throw new Error("x-0 is registered");
  expect(await client.lookupById(reader.agentId)).toEqual(reader);
  expect(await client.lookupByName(nameOf("nobody"))).toBeNull();
  expect(await client.lookupById(agentIdOfNobody)).toBeNull();
});

const agentIdOfNobody = `agt_${"A".repeat(22)}` as Parameters<RegistryClient["lookupById"]>[0];
