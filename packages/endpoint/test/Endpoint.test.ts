import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";
import { type Endpoint, startEndpoint } from "../src/Endpoint.ts";
import type { Configuration } from "../src/state/Configuration.ts";
import * as Identity from "../src/state/Identity.ts";
import * as EndpointFile from "../src/state/EndpointFile.ts";
import * as StartSecret from "../src/state/StartSecret.ts";
import * as StateFolder from "../src/state/StateFolder.ts";
import * as Database from "../src/store/Database.ts";
import * as Settings from "../src/store/Settings.ts";
import { StoreError } from "../src/store/StoreError.ts";
import { alter } from "./store/TemporaryStore.ts";

const random = (byteCount: number): Buffer => randomBytes(byteCount);
const { publicKey } = Ed25519.signerFromSeed(Buffer.alloc(32, 1));

const start = async (
  stateFolder: StateFolder.StateFolder,
  more: Partial<Configuration> = {},
): Promise<Endpoint> => {
  const endpoint = await startEndpoint({
    stateFolder,
    configuration: {
      registryUrl: "http://127.0.0.1:9" as Configuration["registryUrl"],
      routerUrl: "ws://127.0.0.1:9" as Configuration["routerUrl"],
      registryKey: publicKey,
      routerKey: publicKey,
      port: 0,
      mode: "trusted-local",
      logLevel: "info",
      contacts: "everyone",
      blocked: [],
      ...more,
    },
    logger: () => undefined,
    clock: Date.now,
    random,
  });
  onTestFinished(() => endpoint.close());
  return endpoint;
};

const folder = (): StateFolder.StateFolder => {
  const stateFolder = StateFolder.open(join(temporaryFolder(), "state"));
  Identity.create(stateFolder, random);
  return stateFolder;
};

verifies(
  ["RUN-21", "RUN-22"],
  "an endpoint that cannot take its port lets go of everything, and can be started again",
  async () => {
    const stateFolder = folder();
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    await expect(start(stateFolder, { port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    expect(existsSync(stateFolder.endpoint)).toBe(false);
    const endpoint = await start(stateFolder);
    expect(JSON.parse(readFileSync(stateFolder.endpoint, "utf8"))).toMatchObject({ mcpUrl: endpoint.mcpUrl });
    await expect(start(stateFolder)).rejects.toThrow(String(process.pid));
    await endpoint.close();
    expect(existsSync(stateFolder.endpoint)).toBe(false);
    await (await start(stateFolder)).close();
  },
);

verifies(
  ["HIS-65", "RUN-54"],
  "an endpoint refuses a damaged or a newer store in words, writes nothing, and lets go of the folder",
  async () => {
    const stateFolder = folder();
    await (await start(stateFolder)).close();
    const refusals: ReadonlyArray<readonly [string, string]> = [
      ["INSERT INTO pending (conversation_id, record_hash) VALUES ('cnv', 'rch')", "refers to none"],
      [
        "UPDATE setting SET value = x'39'; INSERT INTO setting (name, value) VALUES ('verified_sequence', x'39')",
        "less than what was verified",
      ],
      ["PRAGMA user_version = 1000", "start the newer program"],
    ];
    for (const [sql, sentence] of refusals) {
      alter(stateFolder.database, (sqlite) => sqlite.exec(sql));
      const before = readFileSync(stateFolder.database);
      const refused = start(stateFolder);
      await expect(refused).rejects.toThrow(sentence);
      await expect(refused).rejects.toBeInstanceOf(StoreError);
      expect(readFileSync(stateFolder.database).equals(before)).toBe(true);
      expect(existsSync(stateFolder.endpoint)).toBe(false);
      alter(stateFolder.database, (sqlite) => {
        sqlite.exec(
          "PRAGMA user_version = 1; DELETE FROM pending; DELETE FROM setting WHERE name = 'verified_sequence'",
        );
      });
    }
    await (await start(stateFolder)).close();
  },
);

verifies(
  "RUN-302",
  "what a killed endpoint left at its address is gone before the next one looks at anything",
  async () => {
    const stateFolder = StateFolder.open(join(temporaryFolder(), "state"));
    EndpointFile.write(stateFolder, {
      pid: process.pid,
      born: null,
      secret: StartSecret.create(random),
      mcpUrl: "http://127.0.0.1:9/mcp",
      mode: "trusted-local",
      version: "0.0.0",
    });
    // It has no keys: nothing of a start comes before that is found out but the lock.
    await expect(start(stateFolder)).rejects.toThrow("has no keys yet");
    expect(existsSync(stateFolder.endpoint)).toBe(false);
  },
);

verifies("RUN-302", "an endpoint that stops leaves the file of another start", async () => {
  const stateFolder = folder();
  const endpoint = await start(stateFolder);
  const own = EndpointFile.read(stateFolder);
  if (own === null) throw new Error("it is ready and has written nothing");
  EndpointFile.write(stateFolder, { ...own, secret: StartSecret.create(random) });
  const others = readFileSync(stateFolder.endpoint, "utf8");
  await endpoint.close();
  expect(readFileSync(stateFolder.endpoint, "utf8")).toBe(others);
});

verifies("RUN-20", "an endpoint without keys says what to do, and leaves no lock", async () => {
  const stateFolder = StateFolder.open(join(temporaryFolder(), "state"));
  await expect(start(stateFolder)).rejects.toThrow("run `social-harness init` or `join` first");
  Identity.create(stateFolder, random);
  const endpoint = await start(stateFolder);
  expect(endpoint.health()).toMatchObject({ registered: false, routerConnected: false, restored: null });
});

/** A folder as a kill leaves it under traffic: the store, and beside it a write-ahead log with commits of its own. */
const killed = async (): Promise<StateFolder.StateFolder> => {
  const stateFolder = folder();
  await (await start(stateFolder)).close();
  const db = Database.open(stateFolder.database);
  for (const at of [1, 2, 3]) db.transaction(() => Settings.put(db, "probed_at", at));
  const files = [stateFolder.database, `${stateFolder.database}-wal`];
  const bytes = files.map((file) => readFileSync(file));
  db.close();
  for (const [index, file] of files.entries()) writeFileSync(file, bytes[index] as Buffer);
  return stateFolder;
};

verifies(
  ["RUN-54", "RUN-122"],
  "C51 a start that refuses a store leaves its file and its write-ahead log byte for byte as they were",
  async () => {
    const damages: Readonly<Record<string, (path: string) => void>> = {
      "a damaged page that the log does not hold": (path) => {
        const bytes = readFileSync(path);
        bytes.fill(0xff, 4 * 4_096, 4 * 4_096 + 64);
        writeFileSync(path, bytes);
      },
      "a row of which the log knows nothing": (path) => {
        // Through a log that is put back behind it.
        const log = readFileSync(`${path}-wal`);
        rmSync(`${path}-wal`);
        alter(path, (sqlite) =>
          sqlite.exec("INSERT INTO former_lane_head VALUES ('lane', 1, 7, 'head', 'signature')"),
        );
        writeFileSync(`${path}-wal`, log);
      },
    };
    for (const [name, damage] of Object.entries(damages)) {
      const stateFolder = await killed();
      damage(stateFolder.database);
      const files = [stateFolder.database, `${stateFolder.database}-wal`];
      const before = files.map((file) => readFileSync(file));
      expect(before[1]?.byteLength, name).toBeGreaterThan(0);
      await expect(start(stateFolder), name).rejects.toMatchObject({ reason: "corrupt" });
      expect(
        files.map((file, index) => readFileSync(file).equals(before[index] as Buffer)),
        name,
      ).toEqual([true, true]);
    }
  },
);

verifies(
  "RUN-54",
  "a start that takes a store folds what a kill left in its log, and goes on with it",
  async () => {
    const stateFolder = await killed();
    const endpoint = await start(stateFolder);
    await endpoint.close();
    expect(existsSync(`${stateFolder.database}-wal`)).toBe(false);
    const db = Database.openSnapshot(stateFolder.database);
    expect(Settings.integer(db, "probed_at")).toBe(3);
    db.close();
  },
);
