// A network whose Router lost its data folder under traffic, as everybody runs it: real processes, killed and started again
// on the old address or on another one. Judged from the members' disks and from exports.

import { randomInt } from "node:crypto";
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect } from "vitest";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as DiskOracle from "@social-harness/testkit/network/DiskOracle";
import { verifies } from "@social-harness/testkit/Verifies";
import { connect } from "../../src/daemon/DaemonClient.ts";
import { readConversation } from "../../src/daemon/History.ts";
import { failureOf, lastJson, runHere, serve, temporaryFolder, type Served } from "../Binary.ts";
import { freePort } from "../Ports.ts";

const json = async (...words: ReadonlyArray<string>) => lastJson(await runHere([...words, "--json"]));

const names = ["ada-agent", "bob-agent", "cyd-agent", "dan-agent"] as const;
type Name = (typeof names)[number];

/** Conversations of 2, 3 and 4 members. */
const memberships: ReadonlyArray<ReadonlyArray<Name>> = [2, 3, 4].map((count) => names.slice(0, count));

const addressFor = (self: Name, members: ReadonlyArray<Name>): string =>
  members.length === 2 ? `agent:${members.find((name) => name !== self)}` : `group:${members.join()}`;

interface Town {
  readonly data: string;
  readonly stateOf: (name: Name) => string;
  readonly daemons: Map<Name, Served>;
  network: Served;
}

const startNetwork = (data: string, listen: string): Promise<Served> =>
  serve(["network", "start", "--data", data, "--listen", listen, "--json"]);

const startDaemon = async (town: Town, name: Name): Promise<void> => {
  town.daemons.set(name, await serve(["daemon", "--state", town.stateOf(name), "--port", "0", "--json"]));
};

const settle = async (): Promise<Town> => {
  const root = temporaryFolder();
  const data = join(root, "net");
  const network = await startNetwork(data, `127.0.0.1:${await freePort()}`);
  const town: Town = { data, stateOf: (name) => join(root, name), daemons: new Map(), network };
  const { invite } = await json("network", "invite", "create", "--data", data, "--uses", "4");
  for (const name of names) {
    await json("join", invite as string, "--name", name, "--state", town.stateOf(name));
    await startDaemon(town, name);
  }
  return town;
};

const withDaemonOf = async <A>(
  town: Town,
  name: Name,
  work: (client: Awaited<ReturnType<typeof connect>>) => Promise<A>,
): Promise<A> => {
  const client = await connect(town.daemons.get(name)?.ready["mcpUrl"] as string);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
};

/** Posts one text until it is certified, under one key, whatever happens to the daemon meanwhile. */
const post = async (town: Town, name: Name, to: string, text: string): Promise<void> => {
  for (;;) {
    const call = { input: { to, text }, idempotencyKey: text };
    const status = await withDaemonOf(town, name, (client) => client.call("send_message", call)).then(
      (result) => result.status,
      () => "failed" as const,
    );
    if (status === "certified") return;
    await sleep(100);
  }
};

/** Everybody posts in every conversation, one after the other, until told to stop; resolves with the texts by conversation. */
const traffic = (town: Town) => {
  const run = { stopping: false, posted: 0 };
  const texts = new Map<ReadonlyArray<Name>, Array<string>>(memberships.map((members) => [members, []]));
  const author = async (name: Name, members: ReadonlyArray<Name>): Promise<void> => {
    for (let i = 0; !run.stopping; i++) {
      const text = `${name} to ${members.length}: ${i}`;
      texts.get(members)?.push(text);
      await post(town, name, addressFor(name, members), text);
      run.posted++;
      await sleep(20);
    }
  };
  const authors = memberships.flatMap((members) => members.map((name) => author(name, members)));
  return {
    untilPosted: async (count: number): Promise<void> => {
      const goal = run.posted + count;
      while (run.posted < goal) await sleep(20);
    },
    stop: async () => {
      run.stopping = true;
      await Promise.all(authors);
      return texts;
    },
  };
};

const routerLog = ({ data }: Town): string => join(data, "router.sqlite");

/** The network's process dies, and with it everything that its Router had on disk. */
const loseRouter = async (town: Town): Promise<void> => {
  await town.network.stop("SIGKILL");
  for (const journal of ["", "-wal", "-shm"]) rmSync(routerLog(town) + journal, { force: true });
};

const hostOf = (url: unknown): string => new URL(url as string).host;

const startOnOldAddress = async (town: Town): Promise<void> => {
  const before = town.network.ready["routerUrl"];
  town.network = await startNetwork(town.data, hostOf(town.network.ready["registryUrl"]));
  expect(town.network.ready["routerUrl"]).toBe(before);
};

interface Change {
  readonly title: string;
  readonly ending: "another-instance" | "rolled-back";
  /** What happens to the network while everybody posts. */
  readonly change: (town: Town, untilPosted: (count: number) => Promise<void>) => Promise<void>;
}

const changes: ReadonlyArray<Change> = [
  {
    title: "an empty Router on the old address needs nothing of the members",
    ending: "another-instance",
    change: async (town) => {
      await loseRouter(town);
      await sleep(300);
      await startOnOldAddress(town);
    },
  },
  {
    title: "to an empty Router at another address the members move",
    ending: "another-instance",
    change: async (town) => {
      await loseRouter(town);
      const before = town.network.ready["routerUrl"];
      town.network = await startNetwork(town.data, "127.0.0.1:0");
      expect(town.network.ready["routerUrl"]).not.toBe(before);
      const { invite } = await json("network", "show", "--data", town.data);
      for (const name of names) {
        const moved = await json("move", invite as string, "--state", town.stateOf(name));
        const { routerUrl } = town.network.ready;
        expect(moved).toMatchObject({ kind: "moved", routerUrl, restart: true });
        expect(await town.daemons.get(name)?.stop()).toBe(0);
        await startDaemon(town, name);
      }
    },
  },
  {
    title: "daemons that are killed while they change to an empty Router take it up again",
    ending: "another-instance",
    change: async (town) => {
      await loseRouter(town);
      await startOnOldAddress(town);
      for (const name of ["bob-agent", "ada-agent", "bob-agent"] as const) {
        await sleep(randomInt(0, 400));
        await town.daemons.get(name)?.stop("SIGKILL");
        await startDaemon(town, name);
      }
    },
  },
  {
    title: "a Router that was put back from an old copy is caught, and costs a round",
    ending: "rolled-back",
    change: async (town, untilPosted) => {
      expect(await town.network.stop()).toBe(0);
      copyFileSync(routerLog(town), `${routerLog(town)}.old`);
      await startOnOldAddress(town);
      await untilPosted(20);
      await loseRouter(town);
      copyFileSync(`${routerLog(town)}.old`, routerLog(town));
      await startOnOldAddress(town);
    },
  },
];

/** Every member's daemon shows the same chain with every text once, and its export verifies. */
const expectWhole = async (
  town: Town,
  members: ReadonlyArray<Name>,
  texts: ReadonlyArray<string>,
): Promise<void> => {
  const key = town.network.ready["registryKey"] as string;
  for (const name of members) {
    const address = addressFor(name, members);
    const read = () => withDaemonOf(town, name, (client) => readConversation(client, address));
    let records = await read();
    while (records.length < texts.length) records = await read();
    const said = records.flatMap(({ recordCore }) =>
      recordCore.action.postIntent.content.map((part) => (part.type === "text" ? part.text : "")),
    );
    expect(said.toSorted()).toEqual(texts.toSorted());
    const file = join(town.stateOf(name), "talk.jsonl");
    await json("export", address, "--output", file, "--force", "--state", town.stateOf(name));
    expect(await json("verify", file, "--registry-key", key)).toMatchObject({
      ok: true,
      records: texts.length,
    });
    const rounds = readFileSync(file, "utf8").matchAll(/"kind":"reanchor_body".*?"round":(\d+)/g);
    expect([...rounds].length).toBeGreaterThan(0);
  }
};

describe("when the Router changes under traffic, conversations of 2, 3 and 4 go on, nothing is lost or doubled", () => {
  for (const { title, ending, change } of changes) {
    verifies(
      ["HIS-131", "HIS-132", "RUN-47", "RUN-69"],
      title,
      async () => {
        const town = await settle();
        const talk = traffic(town);
        await talk.untilPosted(20);
        await change(town, talk.untilPosted);
        await talk.untilPosted(20);
        const texts = await talk.stop();
        for (const [members, said] of texts) await expectWhole(town, members, said);
        for (const name of names) {
          const { health } = (await json("status", "--state", town.stateOf(name))) as { health: unknown };
          expect(health).toMatchObject({ restored: null, pendingPosts: 0 });
          const { formerRouters, equivocations } = await json("evidence", "--state", town.stateOf(name));
          expect(formerRouters).toMatchObject([{ reason: ending }]);
          if (ending === "another-instance") expect(equivocations).toEqual([]);
        }
        for (const daemon of town.daemons.values()) expect(await daemon.stop()).toBe(0);
        expect(await town.network.stop()).toBe(0);
        const stores = names.map((name) => StateFolder.at(town.stateOf(name)).database);
        const verdict = DiskOracle.judge(stores, { quiet: true });
        expect(verdict.problems).toEqual([]);
        expect(verdict.conversations).toBe(memberships.length);
      },
      180_000,
    );
  }
});

verifies(
  "RUN-47",
  "move takes addresses alone: other keys are another network, and who has not joined has none",
  async () => {
    const root = temporaryFolder();
    const [one, two] = [join(root, "one"), join(root, "two")];
    const networks = [await startNetwork(one, "127.0.0.1:0"), await startNetwork(two, "127.0.0.1:0")];
    const { invite } = await json("network", "invite", "create", "--data", one);
    const state = join(root, "ada");
    const early = await runHere(["move", invite as string, "--state", state, "--json"]);
    expect([early.code, failureOf(early).reason]).toEqual([1, "not-joined"]);
    await json("join", invite as string, "--name", "ada-agent", "--state", state);
    const before = readFileSync(join(state, "config.json"), "utf8");
    const other = await json("network", "show", "--data", two);
    const refused = await runHere(["move", other["invite"] as string, "--state", state, "--json"]);
    expect([refused.code, failureOf(refused).reason]).toEqual([1, "other-network"]);
    expect(readFileSync(join(state, "config.json"), "utf8")).toBe(before);
    const own = await json("network", "show", "--data", one);
    expect(await json("move", own["invite"] as string, "--state", state)).toMatchObject({ restart: false });
    for (const network of networks) await network.stop();
  },
);
