// The demo through the binary: its counts add up, and nothing of it is left behind.

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { lastJson, run, start } from "../Binary.ts";

/** Processes whose command line names the folder; only Linux shows them as files. */
const processesOf = (folder: string): ReadonlyArray<string> => {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder);
    } catch {
      return false;
    }
  });
};

describe("demo", () => {
  verifies(
    ["RUN-05", "RUN-01"],
    "four endpoints, one offline, one killed: every post once, in order, verified, in under 60 s",
    async () => {
      const ended = await run(["demo", "--json"]);
      expect([ended.code, ended.stderr]).toEqual([0, ""]);
      expect(ended.stdout.trimEnd().split("\n")).toHaveLength(1);
      const counts = lastJson(ended) as Record<string, number | boolean>;
      expect(counts).toEqual({
        ok: true,
        agents: 4,
        postsSent: 41,
        itemsExpected: 83,
        itemsDelivered: 83,
        duplicates: 0,
        missing: 0,
        outOfOrder: 0,
        restarts: 2,
        // Every record is read at each member: 21 of the group of four, 20 of direct conversations.
        recordsVerified: 21 * 4 + 20 * 2,
        elapsedMs: expect.any(Number) as number,
      });
      expect(counts["elapsedMs"]).toBeLessThan(60_000);
    },
    120_000,
  );

  verifies(
    "RUN-05",
    "interrupted in the middle, it leaves no process and no folder behind",
    async () => {
      const child = start(["demo"], {});
      let stdout = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
      const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
      while (!stdout.includes("A group of four opens")) await sleep(20);
      const folder = /run in (\S+)/.exec(stdout)?.[1] as string;
      expect(existsSync(folder)).toBe(true);
      child.kill("SIGINT");
      expect(await ended).toBe(1);
      expect([existsSync(folder), processesOf(folder)]).toEqual([false, []]);
    },
    120_000,
  );

  verifies(
    "RUN-05",
    "killed itself, its processes end by themselves",
    async () => {
      const child = start(["demo"], {});
      let stdout = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
      while (!stdout.includes("A group of four opens")) await sleep(20);
      const folder = /run in (\S+)/.exec(stdout)?.[1] as string;
      child.kill("SIGKILL");
      const until = performance.now() + 10_000;
      while (processesOf(folder).length > 0 && performance.now() < until) await sleep(50);
      rmSync(folder, { recursive: true, force: true });
      expect(processesOf(folder)).toEqual([]);
    },
    120_000,
  );
});
