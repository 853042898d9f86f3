// `doctor` on a way that is whole, and on one with each of its links broken in turn: it names that link and what mends it.

import { chmodSync, cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { version } from "../../src/Version.ts";
import { checks, type Check, type Finding } from "../../src/doctor/Finding.ts";
import { spaceOf } from "../../src/doctor/Folder.ts";
import { clockOf } from "../../src/doctor/Services.ts";
import { failureOf, lastJson, runHere, type Served } from "../Binary.ts";
import { joined, json, network, refusal, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
let adaDaemon: Served;
let bobDaemon: Served;

interface Report {
  readonly ok: boolean;
  readonly broken: Check | null;
  readonly warnings: number;
  readonly findings: ReadonlyArray<Finding>;
}

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(bob, "bob-agent");
  adaDaemon = await startDaemon(ada);
  bobDaemon = await startDaemon(bob);
  await json("send", "agent:bob-agent", "hello", "--state", ada);
}, 60_000);

afterAll(async () => {
  await adaDaemon.stop();
  await bobDaemon.stop();
});

/** What it says of a folder, with its exit code and the failure that it ends with. */
const examined = async (state: string, ...more: ReadonlyArray<string>) => {
  const ended = await runHere(["doctor", "--state", state, ...more, "--json"]);
  const report = lastJson(ended) as unknown as Report;
  const of = (check: Check): Finding => {
    const finding = report.findings.find((one) => one.check === check);
    if (finding === undefined) throw new Error(`nothing was said of ${check}`);
    return finding;
  };
  expect(ended.code).toBe(report.ok ? 0 : 1);
  if (!report.ok) expect(failureOf(ended).reason).toBe("broken-link");
  return { ...report, of, ended };
};

const brokenOf = ({ findings }: Report): ReadonlyArray<Check> =>
  findings.filter(({ verdict }) => verdict === "broken").map(({ check }) => check);

/** A folder as ada's, of which no daemon knows. */
const copyOf = (name: string): string => {
  const copy = join(root, name);
  cpSync(ada, copy, { recursive: true });
  rmSync(join(copy, "endpoint.json"));
  return copy;
};

verifies(
  ["RUN-192", "RUN-193"],
  "a whole way is walked to its end and back, and what was said in conversations is what it was",
  async () => {
    const before = await json("history", "agent:bob-agent", "--state", ada);
    const report = await examined(ada, "--peer", "bob-agent");
    expect(report.findings.map(({ check }) => check)).toEqual(checks);
    expect(report.findings.filter(({ verdict }) => verdict !== "ok")).toEqual([]);
    expect(report).toMatchObject({ ok: true, broken: null, warnings: 0 });
    expect(report.of("canary").message).toMatch(/^a question to itself came back over the Router in \d+ ms$/);
    expect(report.of("peer").message).toMatch(/^bob-agent's endpoint answered in \d+ ms$/);
    const people = await runHere(["doctor", "--state", ada]);
    expect([people.code, people.stderr]).toEqual([0, ""]);
    expect(people.stdout).toContain("The whole way is well.");
    expect(await json("history", "agent:bob-agent", "--state", ada)).toEqual(before);
    expect((await json("inbox", "--state", bob))["items"]).toHaveLength(1);
  },
);

verifies("RUN-195", "what works and should be known is a warning, and no failure", async () => {
  const file = join(ada, "endpoint.json");
  const written = readFileSync(file, "utf8");
  writeFileSync(file, written.replace(`"version":"${version}"`, '"version":"9.0.0"'));
  writeFileSync(join(ada, "test-callbacks.json"), "{}", { mode: 0o600 });
  const report = await examined(ada);
  expect(report).toMatchObject({ ok: true, warnings: 2 });
  expect(report.of("version")).toMatchObject({
    verdict: "warning",
    message: `the daemon is version 9.0.0 and this command version ${version}`,
    next: expect.stringContaining(`\`social-harness daemon --state ${ada}\``) as string,
  });
  expect(report.of("test-callbacks").next).toContain("Remove the file");
  writeFileSync(file, written);
  rmSync(join(ada, "test-callbacks.json"));
  const stranger = join(root, "cyd");
  await joined(stranger, "cyd-agent");
  expect((await examined(ada, "--peer", "cyd-agent")).of("peer")).toMatchObject({
    verdict: "warning",
    next: expect.stringContaining("social-harness send agent:cyd-agent") as string,
  });
});

verifies(
  "RUN-194",
  "a folder that others can read, bad rules and a daemon that is not there are named with the fix",
  async () => {
    const copy = copyOf("copy");
    chmodSync(join(copy, "identity.json"), 0o644);
    writeFileSync(join(copy, "firewall.json"), '{"rules":[{"verdict":"perhaps"}]}', { mode: 0o600 });
    const report = await examined(copy, "--peer", "bob-agent");
    expect(report.broken).toBe("folder");
    expect(brokenOf(report)).toEqual(["folder", "keys", "firewall", "daemon"]);
    expect(report.of("folder").next).toContain(`chmod go= ${join(copy, "identity.json")}`);
    expect(report.of("firewall").message).toContain("rule 1, verdict");
    expect(report.of("daemon").next).toContain(`\`social-harness daemon --state ${copy}\``);
    for (const check of ["store", "registry", "mcp", "canary", "peer"] as const) {
      expect(report.of(check).verdict, check).toBe("skipped");
    }
    expect(failureOf(report.ended).message).toContain('the first broken link is "folder"');
  },
);

verifies("RUN-194", "no folder, no keys, no configuration and a wrong one are each named", async () => {
  const none = join(root, "none");
  expect((await examined(none)).broken).toBe("folder");
  expect(existsSync(none)).toBe(false);
  const keysAlone = join(root, "keys");
  await runHere(["init", "--state", keysAlone]);
  expect((await examined(keysAlone)).broken).toBe("configuration");
  const copy = copyOf("wrong");
  const configuration = readFileSync(join(copy, "config.json"), "utf8");
  writeFileSync(join(copy, "config.json"), configuration.replace("{", '{"colour":"red",'));
  const wrong = await examined(copy);
  expect([wrong.broken, wrong.of("configuration").message]).toEqual([
    "configuration",
    expect.stringContaining("config.json: colour"),
  ]);
  rmSync(join(copy, "identity.json"));
  expect((await examined(copy)).broken).toBe("keys");
  expect(await refusal("doctor", "--peer", "B", "--state", ada)).toEqual([2, "usage"]);
});

verifies("RUN-194", "a store that changed, and one of other keys, is found beside a sound one", async () => {
  const copy = copyOf("changed");
  const exchanged = copyOf("exchanged");
  const { DatabaseSync } = await import("node:sqlite");
  const sqlite = new DatabaseSync(join(copy, "endpoint.sqlite"));
  sqlite.exec("UPDATE record SET core = replace(core, 'hello', 'hullo')");
  sqlite.close();
  const report = await examined(copy);
  expect([report.broken, brokenOf(report)]).toEqual(["store", ["store", "daemon"]]);
  expect(report.of("store").next).toContain("Restore it from a backup");
  cpSync(join(bob, "identity.json"), join(exchanged, "identity.json"));
  expect((await examined(exchanged)).of("store").next).toContain("Put the matching file back");
});

verifies("RUN-194", "a process that holds the folder and is not ready is told from none", async () => {
  const file = join(ada, "endpoint.json");
  renameSync(file, `${file}.away`);
  const report = await examined(ada);
  expect(report.of("daemon").message).toContain(`pid ${adaDaemon.pid}, and is not ready`);
  renameSync(`${file}.away`, file);
});

verifies("RUN-193", "little space and a clock that differs are told by how much", () => {
  expect(spaceOf(10_000_000_000).verdict).toBe("ok");
  expect(spaceOf(100_000_000)).toMatchObject({
    verdict: "warning",
    message: expect.stringContaining("95 MB") as string,
  });
  // As long as it is taken and said, it is no broken link.
  expect(spaceOf(2_000_000).verdict).toBe("warning");
  expect(spaceOf(1_000_000).verdict).toBe("broken");
  expect(clockOf([]).verdict).toBe("skipped");
  expect(clockOf([-59_000, 100]).verdict).toBe("ok");
  expect(clockOf([500, 3_600_000]).message).toBe("it is 3600 seconds behind the network's");
  expect(clockOf([-90_000_000, 0]).message).toBe("it is 90000 seconds ahead of the network's");
});

verifies(
  "RUN-194",
  "a peer that is off, and a network that is down, are each the first broken link",
  async () => {
    await bobDaemon.stop();
    const away = await examined(ada, "--peer", "bob-agent");
    expect([away.broken, brokenOf(away)]).toEqual(["peer", ["peer"]]);
    expect(away.of("peer").next).toContain("Posts to it wait");
    expect((await examined(ada, "--peer", "nobody-there")).of("peer")).toMatchObject({ verdict: "broken" });
    await network.stop();
    await expect
      .poll(async () => brokenOf(await examined(ada)), { timeout: 30_000 })
      .toEqual(["registry", "router", "connection", "canary"]);
    const down = await examined(ada);
    expect(down.of("registry").message).toContain("connection refused");
    expect(down.of("clock").verdict).toBe("skipped");
    expect(down.of("mcp").verdict).toBe("ok");
    bobDaemon = await startDaemon(bob);
  },
  90_000,
);
