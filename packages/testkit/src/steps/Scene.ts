// One agent whose daemon is killed at its steps, the peers that it speaks with in this process, and everything that was
// promised to anybody so far. Brings them to rest, and judges their disks: at the instant of a death, and at rest.

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import * as Invite from "@social-harness/registry/Invite";
import * as Bindings from "../faults/Bindings.ts";
import * as Books from "../faults/Books.ts";
import { Away } from "../faults/Client.ts";
import * as Disk from "../faults/Disk.ts";
import * as DiskLaws from "../faults/DiskLaws.ts";
import * as Endpoint from "../faults/Endpoint.ts";
import { Faults } from "../faults/Fault.ts";
import * as DiskOracle from "../network/DiskOracle.ts";
import type { Network } from "../network/Network.ts";
import { type NetworkAgent, openAgent, storeOf } from "../network/NetworkAgent.ts";
import type { FaultyDisk } from "../storage/FaultyDisk.ts";
import * as Host from "./Host.ts";

export interface SceneOptions {
  readonly network: Network;
  readonly disk: FaultyDisk;
  /** New, and the scene's own. */
  readonly folder: string;
  /** Of the agent that is killed; its peers are named after it. No other scene of the network has it. */
  readonly name: string;
  readonly peers: number;
}

type Select = (sql: string) => ReadonlyArray<Readonly<Record<string, unknown>>>;
type Ending = "released" | "discarded";

export interface Scene {
  readonly faults: Faults;
  readonly victim: Endpoint.Endpoint;
  readonly peers: ReadonlyArray<NetworkAgent>;
  readonly host: Host.Host;
  /** Registers the victim, whose daemon runs or comes to run. Repeating it changes nothing. */
  readonly register: () => Promise<void>;
  /** Posts from one of them to others, and resolves once it was answered. */
  readonly post: (from: string, to: ReadonlyArray<string>, text?: string) => Promise<void>;
  /** The owner ends the hold of the newest message that is held. */
  readonly end: (ending: Ending) => Promise<void>;
  /** Folds the victim's write-ahead log into its store, as anybody may beside its daemon. */
  readonly fold: () => void;
  /** Resolves when the daemon of the victim has ended without being told to, with how. */
  readonly fallen: () => Promise<string>;
  /** Resolves when nothing is under way anywhere and everybody has what it is owed. Rejects with what is missing. */
  readonly rest: () => Promise<void>;
  /** Holds every disk against the laws of every instant, the victim being dead. */
  readonly judgeFallen: () => void;
  /** Holds every disk against all laws, all being at rest. */
  readonly judgeRested: () => void;
  readonly close: () => Promise<void>;
}

const describe = Closed.decoder(Invite.NetworkDescription);

const retryMs = 20;
const lookMs = 20;
/** A bound for what hangs; what waits for anything longer than a second or two is broken or on a very busy machine. */
export const patienceMs = 120_000;

/** What a held message says at its beginning, by the rule of the victim's owner. */
export const heldText = "hold this";
const firewall = {
  rules: [{ when: { text: `^${heldText}` }, verdict: "hold" }],
  otherwise: "allow",
  allowRelease: true,
};

const openSql = `SELECT (SELECT count(*) FROM intent WHERE outcome IS NULL) AS intents,
  (SELECT count(*) FROM pending) AS pending, (SELECT count(*) FROM outbox) AS outbox,
  (SELECT count(*) FROM firewall_queue) AS queued`;
const headsSql = "SELECT conversation_id AS id, head_record_hash AS head FROM conversation";
const hadSql = `SELECT (SELECT count(*) FROM inbox WHERE record_hash IS NOT NULL) +
  (SELECT count(*) FROM firewall_hold WHERE ending IS NOT 'released') AS had`;

const addressOf = (to: ReadonlyArray<string>): string =>
  to.length === 1 ? `agent:${to[0]}` : `group:${to.join(",")}`;

/** The peers run from now on; the victim is not started yet. */
export const raise = async (options: SceneOptions): Promise<Scene> => {
  const { network, disk, folder, name } = options;
  mkdirSync(folder, { recursive: true });
  const faults = new Faults();
  const books = Books.create();
  const bindings = Bindings.create();
  let fall = Promise.withResolvers<string>();
  let lifeOver = 0;
  const { registryUrl, registryKey, routerUrl, routerKey } = network;
  const peers = await Promise.all(
    Array.from({ length: options.peers }, (_, index) =>
      openAgent({ network, folder, name: `${name}-peer-${index}` }),
    ),
  );
  const victim = Endpoint.found({
    name,
    folder,
    network: describe({ registryUrl, registryKey, routerUrl, routerKey }),
    prepare: (state) => {
      writeFileSync(state.firewall, JSON.stringify(firewall), { mode: 0o600 });
      return ["--mode", "credentials"];
    },
    environment: disk.environment(folder),
    onUnexpectedEnd: (how) => {
      lifeOver = victim.resident.life();
      fall.resolve(how);
    },
  });
  const { resident } = victim;
  /** What a dead daemon left is its next life's to meet, and is not even looked at here. */
  const isDown = (): boolean => resident.pid() === 0 || lifeOver === resident.life();

  const untilAnswered = async <A>(call: () => Promise<A>): Promise<A> => {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof Away) || faults.sentences.length > 0) throw error;
        await sleep(retryMs);
      }
    }
  };
  const { client } = victim;
  const host = Host.create({ name, client, journalFile: victim.journalFile, faults, untilAnswered });
  const ids = Endpoint.freshIds();
  let isRegistered = false;
  let posts = 0;
  /** What the owner was answered, by hold. */
  const endings = new Map<string, Ending>();

  const databases = new Map([
    [name, victim.database],
    ...peers.map((peer) => [peer.name, storeOf(folder, peer.name)] as const),
  ]);

  /** What keeps an agent from its rest, in words; null for nothing. */
  const unrestOf = (agent: string, all: Select, heads: Map<unknown, unknown>): string | null => {
    const [open = {}] = all(openSql);
    const waiting = Object.entries(open).filter(([, count]) => Number(count) > 0);
    if (waiting.length > 0) return waiting.map(([what, count]) => `${count} ${what} at ${agent}`).join();
    const had = Number(all(hadSql)[0]?.["had"]);
    if (had !== books.owedTo(agent)) return `${agent} has ${had} of ${books.owedTo(agent)} items`;
    for (const { id, head } of all(headsSql)) {
      if (heads.has(id) && heads.get(id) !== head) return `${agent} has another head than others`;
      heads.set(id, head);
    }
    return null;
  };

  const unrest = (): string | null => {
    const heads = new Map<unknown, unknown>();
    const db = new DatabaseSync(victim.database, { readOnly: true, timeout: 10_000 });
    try {
      const why = unrestOf(name, (sql) => db.prepare(sql).all(), heads);
      if (why !== null) return why;
    } finally {
      db.close();
    }
    return peers.map((peer) => unrestOf(peer.name, peer.db.all, heads)).find((why) => why !== null) ?? null;
  };

  /** In one go, and the peers are of this process: nothing happens meanwhile, so that one reading is early and late. */
  const judge = (isDead: boolean): ReadonlyArray<Disk.Disk> => {
    const disks = [...databases].map(([agent, path]) =>
      isDead && agent === name ? Disk.readDead(agent, path, join(folder, "fallen")) : Disk.read(agent, path),
    );
    DiskLaws.askAlways({ early: disks, late: disks }, books, new Map([[name, host.journal]]), faults);
    bindings.ask(disks, faults);
    const holds = new Map(disks.flatMap((one) => one.holds.map((hold) => [hold.holdId, hold.ending])));
    for (const [holdId, ending] of endings) {
      if (holds.get(holdId) !== ending) faults.add(`${name} forgot that ${holdId} was ${ending}`);
    }
    return disks;
  };

  return {
    faults,
    victim,
    peers,
    host,
    register: async () => {
      if (isRegistered) return;
      await untilAnswered(() => Endpoint.register(victim, ids));
      isRegistered = true;
    },
    post: async (from, to, text = "a post") => {
      const burst = posts++;
      const key = `${from} ${burst}`;
      const sent = { author: from, key, text: `${text} ${burst}`, burst };
      const author = peers.find((peer) => peer.name === from);
      const input = { to: addressOf(to), text: sent.text };
      const { postId } =
        author === undefined
          ? await untilAnswered(() => client.call("send_message", { input, idempotencyKey: key }))
          : await author.send(input.to, input.text, { idempotencyKey: key });
      books.enter([from, ...to], { ...sent, postId });
    },
    end: async (ending) => {
      const holdId = Disk.read(name, victim.database).holds.at(-1)?.holdId;
      if (holdId === undefined) throw new Error("nothing was ever held");
      const tool = ending === "released" ? "release_hold" : "discard_hold";
      const { kind } = await untilAnswered(() => client.call(tool, { holdId }));
      endings.set(holdId, kind);
      if (kind !== ending) faults.add(`${name} answered ${kind} to ${tool}`);
    },
    fold: () => {
      const db = new DatabaseSync(victim.database, { timeout: 10_000 });
      try {
        db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } finally {
        db.close();
      }
    },
    fallen: () => {
      fall = Promise.withResolvers();
      return fall.promise;
    },
    rest: async () => {
      const until = performance.now() + patienceMs;
      for (;;) {
        const why = isDown() ? `${name} is down` : unrest();
        if (why === null) return;
        if (performance.now() > until) throw new Error(`no rest after ${patienceMs} ms: ${why}`);
        await sleep(lookMs);
      }
    },
    judgeFallen: () => {
      // Before its registration nobody was promised anything, and there may be no store yet.
      if (isRegistered) judge(true);
    },
    judgeRested: () => {
      DiskLaws.askSettled(judge(false), books, new Map([[name, host.journal]]), faults);
      for (const problem of DiskOracle.judge([...databases.values()], { quiet: true }).problems)
        faults.add(problem);
      const left = readdirSync(victim.state).filter((file) => file.endsWith(".new"));
      if (left.length > 0) faults.add(`${left.join()} of a killed life lies about`);
    },
    close: async () => {
      await resident.kill();
      await Promise.all(peers.map((peer) => peer.close()));
    },
  };
};
