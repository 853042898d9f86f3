// `doctor` on a folder whose daemon would not start, was started otherwise, or does not answer: what is broken is named, and not
// what hangs on it.

import {
  cpSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import process from "node:process";
import { beforeAll, expect, onTestFinished } from "vitest";
import * as Database from "@social-harness/endpoint/store/Database";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Check, Finding } from "../../src/doctor/Finding.ts";
import { lastJson, runHere, serve } from "../Binary.ts";
import { joined, json, network, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(join(root, "bob"), "bob-agent");
  const [one, other] = [await startDaemon(ada), await startDaemon(join(root, "bob"))];
  await json("send", "agent:bob-agent", "hello", "--state", ada);
  await one.stop();
  await other.stop();
}, 60_000);

const copyOf = (name: string): string => {
  const copy = join(root, name);
  cpSync(ada, copy, { recursive: true });
  return copy;
};

const examined = async (state: string) => {
  const report = lastJson(await runHere(["doctor", "--state", state, "--json"])) as unknown as {
    readonly broken: Check | null;
    readonly findings: ReadonlyArray<Finding>;
  };
  const of = (check: Check): Finding => {
    const finding = report.findings.find((one) => one.check === check);
    if (finding === undefined) throw new Error(`nothing was said of ${check}`);
    return finding;
  };
  return { broken: report.broken, of };
};

const configured = (state: string, change: Readonly<Record<string, unknown>>): void => {
  const file = join(state, "config.json");
  const settings = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, unknown>>;
  writeFileSync(file, JSON.stringify({ ...settings, ...change }));
};

verifies(
  "RUN-270",
  "a store on which no daemon starts is the broken link, and is left as it is",
  async () => {
    const sound = await examined(ada);
    expect([sound.broken, sound.of("store").verdict]).toEqual(["daemon", "ok"]);
    expect(sound.of("store").message).toMatch(/^it is ada-agent's, \d+ records? checked as at a start$/);
    expect(sound.of("daemon").next).toMatch(/Where it does not start, it says why/);

    const damaged = join(copyOf("damaged"), "endpoint.sqlite");
    const sqlite = new DatabaseSync(damaged);
    const page = Number(
      sqlite
        .prepare("SELECT rootpage FROM sqlite_schema WHERE type = 'index' ORDER BY rootpage DESC LIMIT 1")
        .get()?.["rootpage"],
    );
    const pageSize = Number(sqlite.prepare("PRAGMA page_size").get()?.["page_size"]);
    sqlite.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    sqlite.close();
    const descriptor = openSync(damaged, "r+");
    writeSync(descriptor, Buffer.alloc(64, 0xff), 0, 64, (page - 1) * pageSize);
    closeSync(descriptor);
    const before = readFileSync(damaged);
    const report = await examined(join(root, "damaged"));
    expect([report.broken, report.of("store").next]).toEqual([
      "store",
      expect.stringMatching(/restore it from a backup/i),
    ]);
    expect(readFileSync(damaged).equals(before)).toBe(true);

    const newer = copyOf("newer");
    const other = new DatabaseSync(join(newer, "endpoint.sqlite"));
    other.exec("PRAGMA user_version = 99");
    other.close();
    const late = await examined(newer);
    expect([late.broken, late.of("store").next]).toEqual([
      "store",
      expect.stringMatching(/start the newer program/i),
    ]);
  },
);

verifies(
  "RUN-270",
  "test callbacks without their flag, and a port that is taken, are named before a start meets them",
  async () => {
    const tests = copyOf("tests");
    writeFileSync(join(tests, "test-callbacks.json"), "{}", { mode: 0o600 });
    const report = await examined(tests);
    expect(report.broken).toBe("test-callbacks");
    expect(report.of("test-callbacks").message).toContain("--allow-test-callbacks");
    const other = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const taken = copyOf("taken");
    configured(taken, { port });
    expect((await examined(taken)).of("daemon").message).toContain(`port ${port} is used by another program`);
  },
);

verifies(
  "RUN-271",
  "a store that is gone or empty is broken, and told with a backup before a new join",
  async () => {
    const lost = copyOf("lost");
    truncateSync(join(lost, "endpoint.sqlite"), 0);
    const emptied = await examined(lost);
    expect([emptied.broken, emptied.of("store").message]).toEqual([
      "store",
      expect.stringMatching(/is empty, and registration.json names ada-agent/),
    ]);
    expect(emptied.of("store").next).toMatch(
      /social-harness restore .*Else `social-harness join .*also the spent one/,
    );
    expect(statSync(join(lost, "endpoint.sqlite")).size).toBe(0);
    rmSync(join(lost, "endpoint.sqlite"));
    expect((await examined(lost)).broken).toBe("store");
    // Without that file only the Registry remembers.
    rmSync(join(lost, "registration.json"));
    const known = await examined(lost);
    expect([known.broken, known.of("registry").message]).toEqual([
      "registry",
      expect.stringContaining("it knows this folder's keys as ada-agent, and the store does not"),
    ]);
    expect(known.of("registry").next).toContain("social-harness restore");
    // A program made it anew.
    Database.open(join(lost, "endpoint.sqlite")).close();
    cpSync(join(ada, "registration.json"), join(lost, "registration.json"));
    expect((await examined(lost)).of("store")).toMatchObject({
      verdict: "broken",
      message: expect.stringContaining("no agent is registered, and registration.json names") as string,
    });
  },
);

verifies(
  ["RUN-272", "RUN-274"],
  "a wrong address of a service is named with its setting and with a move",
  async () => {
    const { registryUrl, routerUrl } = network.ready as {
      readonly registryUrl: string;
      readonly routerUrl: string;
    };
    const wrong = copyOf("wrong");
    configured(wrong, { routerUrl: registryUrl.replace("http", "ws").replace(/\/$/, "") });
    const router = (await examined(wrong)).of("router");
    expect(router).toMatchObject({
      verdict: "broken",
      message: expect.stringMatching(/that is no Router \(HTTP \d+\)$/) as string,
      next: expect.stringMatching(/routerUrl in config\.json.*social-harness move.*proxy/) as string,
    });
    const daemon = await startDaemon(wrong);
    await expect
      .poll(async () => (await examined(wrong)).of("connection").message, { timeout: 20_000 })
      .toMatch(/that is no Router \(HTTP \d+\)$/);
    expect((await examined(wrong)).of("connection").next).toBe(router.next);
    const status = await runHere(["status", "--state", wrong]);
    expect(status.stdout).toMatch(/^Router {3}not connected since .*no Router \(HTTP \d+\)/m);
    expect(await daemon.stop()).toBe(0);
    configured(wrong, { routerUrl, registryUrl: routerUrl.replace("ws", "http").replace(/\/$/, "") });
    expect((await examined(wrong)).of("registry")).toMatchObject({
      verdict: "broken",
      next: expect.stringMatching(/registryUrl in config\.json.*social-harness move/) as string,
    });
  },
);

verifies(
  "RUN-273",
  "a daemon's own mode decides which tokens must be good, and that it is another one is said",
  async () => {
    const state = copyOf("closed");
    const daemon = await serve([
      "daemon",
      "--state",
      state,
      "--port",
      "0",
      "--mode",
      "credentials",
      "--json",
    ]);
    onTestFinished(async () => void (await daemon.stop()));
    const sound = await examined(state);
    expect([sound.broken, sound.of("tokens").message]).toEqual([null, "both can be used, mode credentials"]);
    expect(sound.of("settings")).toMatchObject({
      verdict: "warning",
      message: expect.stringContaining("another mode (credentials) than a start would take now") as string,
    });
    configured(state, { mode: "credentials", routerUrl: "ws://127.0.0.1:1" });
    expect((await examined(state)).of("settings").message).toContain("another routerUrl than");
    rmSync(join(state, "runtime-token"));
    const missing = await examined(state);
    expect([missing.broken, missing.of("tokens").message]).toEqual([
      "tokens",
      expect.stringContaining("runtime-token is missing"),
    ]);
  },
);

verifies(
  "RUN-279",
  "a daemon that hangs is told with its pid and with what takes its place, and asked no more",
  async () => {
    const state = copyOf("hanging");
    const daemon = await startDaemon(state);
    process.kill(daemon.pid, "SIGSTOP");
    const report = await examined(state);
    process.kill(daemon.pid, "SIGCONT");
    expect([report.broken, report.of("daemon").message]).toEqual([
      "daemon",
      `it runs with pid ${daemon.pid} and does not answer`,
    ]);
    expect(report.of("daemon").next).toMatch(new RegExp(`daemon --replace --state .*kill -9 ${daemon.pid}`));
    for (const check of ["version", "settings", "mcp", "connection", "canary"] as const)
      expect(report.of(check).verdict, check).toBe("skipped");
    expect(await daemon.stop()).toBe(0);
  },
  60_000,
);
