// An owner at the command line and the webhook of its endpoint, in each state in which it can be found. The rows are put
// into the store before the daemon starts; the callback's host exists nowhere.

import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeAll, describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, lastJson, runHere, type Served, serve, start } from "../Binary.ts";
import { joined, json, root } from "../Town.ts";

const ada = join(root, "ada");
const daemons: Array<Served> = [];
const day = 86_400_000;

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await (await startDaemon("credentials")).stop();
  daemons.length = 0;
});
afterEach(async () => {
  for (const daemon of daemons.splice(0)) expect(await daemon.stop()).toBe(0);
});

const startDaemon = async (mode: "credentials" | "trusted-local"): Promise<Served> => {
  const daemon = await serve(["daemon", "--state", ada, "--port", "0", "--mode", mode, "--json"]);
  daemons.push(daemon);
  return daemon;
};

const webhook = (...words: ReadonlyArray<string>) => runHere(["webhook", ...words, "--state", ada]);
const asked = async (word: string) => lastJson(await webhook(word, "--json"));
const refused = async (word: string) => {
  const ended = await webhook(word, "--json");
  return [ended.code, failureOf(ended).reason];
};

/** As if a host had subscribed once, and time had passed. */
const register = (
  state: string,
  leaseMs: number,
  failure: readonly [error: string, status: number | null] = ["http_5xx", 503],
): void => {
  const sqlite = new DatabaseSync(join(ada, "endpoint.sqlite"));
  try {
    const now = Date.now();
    sqlite.exec("DELETE FROM webhook_registration");
    sqlite
      .prepare(
        `INSERT INTO webhook_registration
           (one, subscription_id, url, secret, lease_ends_at, state, due_at,
            failed_attempts, failed_since, failed_last_at, last_error, last_status)
         VALUES (1, 'sub_x', 'https://receiver.invalid/hook?a-secret-part', ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
        now + leaseMs,
        state,
        state === "retrying" ? now + 240_000 : now,
        ...(state === "active" ? [0, null, null, null, null] : [100, now - day, now, ...failure]),
      );
  } finally {
    sqlite.close();
  }
};

describe("webhook", () => {
  verifies("ING-112", "says that there is none, in both modes", async () => {
    for (const mode of ["trusted-local", "credentials"] as const) {
      const daemon = await startDaemon(mode);
      expect(await asked("status")).toEqual({ kind: "none" });
      expect((await webhook("status")).stdout).toBe("No webhook is registered.\n");
      expect(await asked("attempts")).toEqual({ attempts: [], earlier: 0 });
      expect((await webhook("attempts")).stdout).toBe("Nothing was attempted yet.\n");
      expect(await asked("revoke")).toEqual({ kind: "none" });
      expect(await refused("resume")).toEqual([1, "no-webhook"]);
      expect(await refused("test")).toEqual([1, "no-webhook"]);
      await daemon.stop();
      daemons.length = 0;
    }
    expect(await refused("status")).toEqual([3, "daemon-not-running"]);
  });

  verifies("ING-112", "shows and steers one, and shows neither its URL nor its secret", async () => {
    const shown: Array<string> = [];
    const say = async (word: string) => {
      const { stdout, stderr } = await webhook(word);
      shown.push(stdout, stderr);
      return stdout;
    };
    register("suspended", day);
    await startDaemon("credentials");
    expect(await asked("status")).toMatchObject({
      kind: "subscription",
      event: "org.social-harness/inbox.item",
      state: "suspended",
      failedAttempts: 100,
      lastError: "http_5xx",
    });
    expect(await say("status")).toMatch(
      /^suspended {2}given up after an hour of failures: `social-harness webhook resume --state .*`.*\n {2}nothing waits\n {2}100 failed attempts since .*, last: it failed, .* \(HTTP 503\)\n {2}See the receiver's own log.*\n {2}lease until .*, last receipt never\n {2}sub_x\n$/,
    );
    expect(await refused("test")).toEqual([1, "webhook-failed"]);
    await say("test");
    expect(await asked("attempts")).toMatchObject({
      attempts: [
        { purpose: "test", status: null, eventId: null },
        { purpose: "test", status: null, eventId: null },
      ],
    });
    expect(await say("attempts")).toMatch(/ test {7}[a-z-]+, \d+ ms\n/);
    expect(await asked("resume")).toEqual({ kind: "resumed" });
    expect(await asked("status")).toMatchObject({ state: "active", failedAttempts: 0 });
    expect(await say("status")).toMatch(/^active {2}items are delivered as they come\n/);
    expect(await say("revoke")).toBe("Revoked.\n");
    expect(await asked("status")).toEqual({ kind: "none" });
    for (const word of ["receiver.invalid", "a-secret-part", "whsec_"]) {
      expect([word, shown.join("").includes(word)]).toEqual([word, false]);
    }
  });

  verifies("ING-112", "says what a resume cannot do, and what to do instead", async () => {
    for (const [state, leaseMs, reason] of [
      ["rejected", day, "webhook-rejected"],
      ["retrying", -1, "webhook-expired"],
    ] as const) {
      register(state, leaseMs);
      const daemon = await startDaemon("credentials");
      expect(await refused("resume")).toEqual([1, reason]);
      const { stderr } = await webhook("resume");
      if (state === "rejected") expect(stderr).toContain(`\`social-harness webhook revoke --state ${ada}\``);
      await daemon.stop();
      daemons.length = 0;
    }
  });

  verifies(["ING-200", "ING-201"], "one that rests is said to, and no resume is promised", async () => {
    register("active", day);
    const daemon = await startDaemon("trusted-local");
    const webhookOf = async () => (await json("status", "--state", ada))["health"];
    expect(await asked("status")).toMatchObject({ state: "active", resting: "trusted-local" });
    expect(await webhookOf()).toMatchObject({ webhook: { state: "active", resting: "trusted-local" } });
    for (const said of [await webhook("status"), await runHere(["status", "--state", ada])]) {
      expect(said.stdout).toMatch(/resting.*"mode": "credentials"/);
    }
    expect(await refused("resume")).toEqual([1, "webhook-resting"]);
    await daemon.stop();
    daemons.length = 0;
    await startDaemon("credentials");
    expect(await webhookOf()).toMatchObject({ webhook: { state: "active", resting: null } });
    expect((await webhook("resume")).stdout).toBe("Resumed: nothing waits.\n");
  });

  verifies(
    ["ING-201", "ING-204", "ING-211"],
    "what to do next names the endpoint, and what failed its status",
    async () => {
      for (const [state, leaseMs, failure, words] of [
        ["rejected", day, ["http_4xx", 410], [/HTTP 410/, /`social-harness webhook revoke --state /]],
        ["retrying", day, ["http_4xx", 401], [/HTTP 401/, /next attempt .*:\d\d:\d\d/]],
        ["expired", -1, ["timeout", null], [/subscribe again/, /`social-harness webhook revoke --state /]],
      ] as const) {
        register(state, leaseMs, failure);
        const daemon = await startDaemon("credentials");
        const own = (await webhook("status")).stdout;
        const { stdout } = await runHere(["status", "--state", ada]);
        const [line = ""] = stdout.split("\n").filter((one) => one.startsWith("Webhook"));
        for (const word of words)
          expect([own, line]).toEqual([expect.stringMatching(word), expect.stringMatching(word)]);
        expect(own).toContain(state === "expired" ? "lease ended" : "lease until");
        await daemon.stop();
        daemons.length = 0;
      }
    },
  );

  verifies(["ING-202", "ING-211"], "who starts the daemon hears of one that does not deliver", async () => {
    register("rejected", day, ["http_4xx", 413]);
    const child = start(["daemon", "--state", ada, "--port", "0", "--mode", "credentials"], {});
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    await once(child.stdout, "data");
    child.kill();
    await once(child, "close");
    expect(said).toMatch(
      /^the webhook receives nothing more: .*HTTP 413.*`social-harness webhook revoke --state /m,
    );
  });

  verifies(
    "ING-210",
    "attempts have seconds, a zone and their event, the newest last, and as many as asked for",
    async () => {
      register("active", day);
      const sqlite = new DatabaseSync(join(ada, "endpoint.sqlite"));
      sqlite.exec("DELETE FROM webhook_attempt");
      for (let i = 0; i < 30; i++) {
        sqlite
          .prepare(
            "INSERT INTO webhook_attempt (at, purpose, category, status, event_id, duration_ms) VALUES (?, 'delivery', 'status', 401, ?, 1)",
          )
          .run(Date.UTC(2026, 10, 30, 12, 0, i), `evt_${i}`);
      }
      sqlite.close();
      await startDaemon("credentials");
      const lines = (await webhook("attempts")).stdout.trimEnd().split("\n");
      expect([lines.length, lines[0]]).toEqual([21, "(10 earlier: --limit shows more)"]);
      expect(lines.at(-1)).toMatch(/:\d\d:29\b.* [A-Z]+.* {2}delivery {3}status 401, 1 ms {2}evt_29$/);
      const all = lastJson(await webhook("attempts", "--limit", "512", "--json"));
      expect([(all["attempts"] as ReadonlyArray<object>).length, all["earlier"]]).toEqual([30, 0]);
      expect((await webhook("attempts", "--limit", "0")).code).toBe(2);
    },
  );

  verifies("ING-112", "explains itself", async () => {
    for (const word of ["status", "attempts", "test", "revoke", "resume"]) {
      const { code, stdout } = await runHere(["webhook", word, "--help"]);
      expect([word, code, stdout.includes("--json"), stdout.includes("Examples:")]).toEqual([
        word,
        0,
        true,
        true,
      ]);
    }
    expect((await runHere(["webhook", "--help"])).stdout).toContain("attempts");
  });
});
