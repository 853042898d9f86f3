import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterAll, expect } from "vitest";
import {
  connect,
  envelopeFrom,
  idOf,
  makeAgents,
  random,
  routerSigner,
  until,
  type Agent,
} from "../Fixture.ts";
import { makeLedger } from "./Ledger.ts";
import { startProxy, type Proxy } from "./Proxy.ts";

const folder = mkdtempSync(join(tmpdir(), "social-harness-router-"));
const main = join(import.meta.dirname, "..", "RouterMain.ts");
let child: ChildProcess | undefined;
afterAll(() => {
  child?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the Router on the one file, and aims the proxy at it; its instance. */
const start = async (proxy: Proxy): Promise<string> => {
  child = spawn(process.execPath, [main, join(folder, "router.sqlite"), "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  const { url, routerInstanceId } = JSON.parse(String(line)) as { url: string; routerInstanceId: string };
  proxy.aim(url);
  return routerInstanceId;
};

const stop = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
  const stopped = once(child as ChildProcess, "exit");
  child?.kill(signal);
  await stopped;
};

verifies(
  ["RTR-39", "RTR-37", "RTR-38", "RTR-30", "RTR-09"],
  "SIGKILL under load: nothing accepted is lost, nothing doubled, no lane reordered, and nobody sees a restart",
  async () => {
    const agents = makeAgents(3) as [Agent, Agent, Agent];
    const [ada, bob] = agents;
    const proxy = await startProxy();
    const everyone = agents.map((agent) =>
      connect({ url: proxy.url, routerKey: routerSigner.publicKey }, agent),
    );
    const ledger = makeLedger();
    const lanes = [agents, [ada, bob], [bob]];
    const load = new AbortController();
    const send = async (): Promise<void> => {
      for (let i = 0; !load.signal.aborted; i++) {
        // Enough to be in the middle of something at any instant, and no backlog that outgrows the test.
        await until(() => ledger.open() < 100);
        for (const sender of everyone) {
          const set = lanes[i % lanes.length] as ReadonlyArray<Agent>;
          const isMember = set.length === 1 || set.includes(sender.agent);
          if (isMember) ledger.send(sender, envelopeFrom(sender.agent, set, random(200 + (i % 50) * 40)));
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const loaded = send();
    const instances = new Set<string>();
    for (let round = 0; round < 4; round++) {
      instances.add(await start(proxy));
      const before = everyone[1]?.deliveries.length ?? 0;
      await everyone[1]?.until(() => (everyone[1]?.deliveries.length ?? 0) > before + 5);
      await new Promise((resolve) => setTimeout(resolve, (random(1)[0] as number) / 4));
      await stop("SIGKILL");
    }
    instances.add(await start(proxy));
    load.abort();
    await loaded;
    const outcomes = await ledger.outcomes();
    expect(outcomes.filter(({ kind }) => kind !== "accepted")).toEqual([]);
    for (const told of everyone) {
      await told.until(() => told.deliveries.length === ledger.expected(told.agent));
      expect(new Set(told.readies.map(({ routerInstanceId }) => routerInstanceId))).toEqual(instances);
    }
    expect(instances.size).toBe(1);
    await ledger.audit(everyone);

    // The counts are those of the whole story.
    const readies = everyone.map((told) => told.readies.length);
    await stop("SIGTERM");
    await start(proxy);
    for (const [i, told] of everyone.entries()) {
      await told.until(() => told.readies.length > (readies[i] as number));
      expect(told.readies.at(-1), idOf(told.agent)).toMatchObject({
        acceptedSends: ledger.sentBy(told.agent),
        tailCursor: ledger.expected(told.agent),
      });
    }
    await Promise.all(everyone.map(({ client }) => client.close()));
    await stop("SIGTERM");
    await proxy.close();
  },
);
