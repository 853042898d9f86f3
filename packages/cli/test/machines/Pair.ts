// A network and ada's endpoint on one machine, bob's on the other, and what the two of them do there: everything is a
// process of its own, in the namespace of its machine, under an authority that neither of the machines knows by itself.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import * as Binary from "../Binary.ts";
import * as Authority from "./Authority.ts";
import type { Machines } from "./Machines.ts";

export type Name = "ada" | "bob";
const peerOf = { ada: "bob", bob: "ada" } as const;

interface Inbox {
  readonly items: ReadonlyArray<{
    readonly item: { readonly message: { readonly content: [{ text: string }] } };
  }>;
}
interface History {
  readonly records: ReadonlyArray<{ readonly recordHash: string }>;
}

export interface Files {
  readonly root: string;
  readonly authority: string;
  readonly cert: string;
  readonly key: string;
}

export const writeFiles = (): Files => {
  const root = Binary.temporaryFolder();
  const write = (name: string, text: string): string => {
    writeFileSync(join(root, name), text);
    return join(root, name);
  };
  return {
    root,
    authority: write("authority.pem", Authority.authority),
    cert: write("cert.pem", Authority.cert),
    key: write("key.pem", Authority.key),
  };
};

export interface Pair {
  /** What lets one more agent in. */
  readonly invite: string;
  readonly daemon: (name: Name) => Binary.Served;
  /** Starts a post and does not wait for more than its answer; resolves with its status. */
  readonly post: (from: Name, text: string) => Promise<string>;
  /** Waits until an endpoint was told exactly these texts of the other one, in this order. */
  readonly told: (name: Name, texts: ReadonlyArray<string>) => Promise<void>;
  /** The record hashes of the conversation, the same at both. */
  readonly oneHistory: () => Promise<ReadonlyArray<string>>;
  readonly connected: (name: Name) => Promise<void>;
  /** How many endpoints the Router has a connection of. */
  readonly connections: () => Promise<number>;
  /** Runs a command beside an endpoint. */
  readonly command: (name: Name, ...words: ReadonlyArray<string>) => Promise<Binary.Ended>;
  readonly stop: () => Promise<void>;
}

export interface PairOptions {
  readonly machines: Machines;
  readonly files: Files;
  /** The flags of `network start` behind its folder. */
  readonly network: ReadonlyArray<string>;
  /** Started once the network serves. */
  readonly beforeJoining?: () => Promise<void>;
  /** What both endpoints have in their environment besides. */
  readonly environment?: NodeJS.ProcessEnv;
}

export const start = async (options: PairOptions): Promise<Pair> => {
  const { machines, files, network: flags, environment = {} } = options;
  const trust = { NODE_EXTRA_CA_CERTS: files.authority };
  const endpointEnvironment = { ...trust, ...environment };
  const data = join(files.root, "net");
  const hosted = { machine: machines.host, env: trust };
  const placed = {
    ada: { machine: machines.host, env: endpointEnvironment },
    bob: { machine: machines.guest, env: endpointEnvironment },
  };
  const stateOf = (name: Name): string => join(files.root, name);
  const command = (name: Name, ...words: ReadonlyArray<string>): Promise<Binary.Ended> =>
    Binary.run([...words, "--state", stateOf(name), "--json"], placed[name]);
  const network = await Binary.serve(["network", "start", "--data", data, ...flags, "--json"], hosted);
  await options.beforeJoining?.();
  const created = await Binary.run(
    ["network", "invite", "create", "--data", data, "--uses", "3", "--json"],
    hosted,
  );
  const invite = Binary.lastJson(created)["invite"] as string;
  const daemons = new Map<Name, Binary.Served>();
  for (const name of ["ada", "bob"] as const) {
    const joined = await command(name, "join", invite, "--name", `${name}-agent`);
    expect([joined.code, joined.stderr]).toEqual([0, ""]);
    const words = ["daemon", "--state", stateOf(name), "--port", "0", "--json"];
    daemons.set(name, await Binary.serve(words, placed[name]));
  }
  const daemon = (name: Name): Binary.Served => {
    const found = daemons.get(name);
    if (found === undefined) throw new Error(`${name} has no daemon`);
    return found;
  };

  const textsOf = async (name: Name): Promise<ReadonlyArray<string>> => {
    const { items } = Binary.lastJson(await command(name, "inbox")) as unknown as Inbox;
    return items.map(({ item }) => item.message.content[0].text);
  };
  const hashesOf = async (name: Name): Promise<ReadonlyArray<string>> => {
    const ended = await command(name, "history", `agent:${peerOf[name]}-agent`);
    const { records } = Binary.lastJson(ended) as unknown as History;
    return records.map(({ recordHash }) => recordHash);
  };

  return {
    invite,
    daemon,
    command,
    post: async (from, text) =>
      Binary.lastJson(await command(from, "send", `agent:${peerOf[from]}-agent`, text))["status"] as string,
    told: async (name, texts) => {
      let heard = await textsOf(name);
      while (heard.length < texts.length) {
        await sleep(200);
        heard = await textsOf(name);
      }
      expect(heard).toEqual(texts);
    },
    oneHistory: async () => {
      const [ada, bob] = await Promise.all([hashesOf("ada"), hashesOf("bob")]);
      expect(ada).toEqual(bob);
      return ada;
    },
    connected: async (name) => {
      const health = async () =>
        Binary.lastJson(await command(name, "status"))["health"] as { readonly routerConnected: boolean };
      while (!(await health()).routerConnected) await sleep(200);
    },
    connections: async () => {
      const token = readFileSync(join(data, "metrics-token"), "utf8");
      // From the machine itself, beside any proxy in front.
      const url = `${(network.ready["routerUrl"] as string).replace(/^ws/, "http")}/metrics`;
      const program = `fetch(${JSON.stringify(url)}, { headers: { authorization: "Bearer ${token}" } })
        .then((answer) => answer.text()).then((page) => process.stdout.write(page))`;
      const { stdout } = await Binary.run([program], { ...hosted, entry: "--eval" });
      return Number(/^social_harness_router_connections (\d+)$/m.exec(stdout)?.[1]);
    },
    stop: async () => {
      for (const one of [...daemons.values(), network]) expect(await one.stop()).toBe(0);
    },
  };
};

/** Long enough to be noticed, and short of the heartbeat's end. */
export const outageMs = 6_000;

export const signal = (served: Binary.Served, name: NodeJS.Signals): void =>
  void process.kill(served.pid, name);
