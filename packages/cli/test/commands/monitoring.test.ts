// What an owner's monitoring reads from a daemon that really talks.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Served } from "../Binary.ts";
import { version } from "../../src/Version.ts";
import { data, joined, json, network, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
const daemons: Array<Served> = [];

beforeAll(async () => {
  for (const [state, name] of [
    [ada, "ada-agent"],
    [bob, "bob-agent"],
  ] as const) {
    await joined(state, name);
    daemons.push(await startDaemon(state));
  }
});
afterAll(async () => {
  for (const daemon of daemons) expect(await daemon.stop()).toBe(0);
});

const get = async (daemon: Served, state: string, path: string, file = "owner-token") => {
  const token = readFileSync(join(state, file), "utf8");
  const answer = await fetch(new URL(path, daemon.ready["mcpUrl"] as string), {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: answer.status, text: await answer.text() };
};

const valueOf = (text: string, series: string): number => {
  const line = text.split("\n").find((one) => one.startsWith(`social_harness_${series} `));
  return line === undefined ? Number.NaN : Number(line.split(" ").at(-1));
};

verifies(["RUN-142", "RUN-143"], "a post and its certificate show in the counts of both sides", async () => {
  expect(await json("send", "agent:bob-agent", "a text that no metric shows", "--state", ada)).toMatchObject({
    status: "certified",
  });
  const [adaDaemon, bobDaemon] = daemons as [Served, Served];
  expect((await get(adaDaemon, ada, "/healthz")).status).toBe(200);
  const page = (await get(adaDaemon, ada, "/metrics")).text;
  expect(valueOf(page, 'own_posts_total{outcome="certified"}')).toBe(1);
  expect(valueOf(page, "certification_seconds_count")).toBe(1);
  expect(valueOf(page, "certification_seconds_sum")).toBeGreaterThan(0);
  expect(valueOf(page, "router_connected")).toBe(1);
  expect(valueOf(page, "certified_records_total")).toBeGreaterThan(0);
  expect(valueOf(page, 'signatures_verified_total{verdict="valid"}')).toBeGreaterThan(0);
  expect(valueOf(page, "store_wal_bytes")).toBeGreaterThan(0);
  await expect
    .poll(async () => valueOf((await get(bobDaemon, bob, "/metrics")).text, "pending_items"))
    .toBe(1);
  const other = (await get(bobDaemon, bob, "/metrics")).text;
  for (const text of [page, other])
    expect(text).not.toMatch(/agent:|-agent|agt_|cnv_|pst_|rch_|dlv_|no metric shows|127\.0\.0\.1/);
});

verifies("RUN-144", "the number of series does not grow with what is said and to whom", async () => {
  const [adaDaemon] = daemons as [Served, Served];
  const namesOf = async () =>
    (await get(adaDaemon, ada, "/metrics")).text
      .split("\n")
      .filter((line) => !line.startsWith("#"))
      .map((line) => line.slice(0, line.lastIndexOf(" ")));
  const before = await namesOf();
  const cat = join(root, "cat");
  await joined(cat, "cat-agent");
  daemons.push(await startDaemon(cat));
  await json("send", "agent:cat-agent", "one", "--state", ada);
  await json("send", "group:ada-agent,bob-agent,cat-agent", "two", "--state", ada);
  expect(await namesOf()).toEqual(before);
});

verifies(
  ["RUN-295", "RUN-296", "RUN-297", "RUN-333"],
  "daemon, Registry and Router answer a monitoring in one form, each under a token that opens nothing",
  async () => {
    const [adaDaemon] = daemons as [Served, Served];
    const urlOf = (name: string): URL => new URL((network.ready[name] as string).replace("ws:", "http:"));
    const token = readFileSync(join(data, "metrics-token"), "utf8");
    const ofNetwork = async (name: string, path: string) => {
      const answer = await fetch(new URL(path, urlOf(name)), {
        headers: { authorization: `Bearer ${token}` },
      });
      return { status: answer.status, text: await answer.text() };
    };
    for (const path of ["/healthz", "/readyz"]) {
      const answers = [
        await get(adaDaemon, ada, path, "metrics-token"),
        await ofNetwork("registryUrl", path),
        await ofNetwork("routerUrl", path),
      ];
      for (const answer of answers) expect(answer).toEqual({ status: 200, text: '{"status":"ok"}' });
    }
    expect(JSON.parse((await get(adaDaemon, ada, "/readyz")).text)).toMatchObject({
      status: "ok",
      registered: true,
    });
    expect((await get(adaDaemon, ada, "/evidence", "metrics-token")).status).toBe(401);
    expect((await get(adaDaemon, ada, "/mcp", "metrics-token")).status).toBe(401);
    const pages = {
      daemon: (await get(adaDaemon, ada, "/metrics", "metrics-token")).text,
      registry: (await ofNetwork("registryUrl", "/metrics")).text,
      router: (await ofNetwork("routerUrl", "/metrics")).text,
    };
    for (const page of Object.values(pages)) {
      expect(page).toContain(`social_harness_build_info{version="${version}"} 1\n`);
      for (const name of ["process_resident_memory_bytes", "process_start_time_seconds"])
        expect(Number(new RegExp(`^${name} (.*)$`, "m").exec(page)?.[1])).toBeGreaterThan(0);
      expect(page).not.toMatch(/agent:|-agent|agt_|cnv_|pst_|rch_|dlv_|no metric shows|127\.0\.0\.1/);
    }
    for (const service of ["registry", "router"] as const) {
      expect(valueOf(pages[service], `${service}_log_usable`)).toBe(1);
      expect(valueOf(pages[service], `${service}_log_bytes`)).toBeGreaterThan(0);
      expect(valueOf(pages[service], `${service}_log_wal_bytes`)).toBeGreaterThanOrEqual(0);
      expect(valueOf(pages[service], `${service}_log_disk_free_bytes`)).toBeGreaterThan(0);
    }
    expect(valueOf(pages.daemon, "store_disk_free_bytes")).toBeGreaterThan(0);
  },
);
