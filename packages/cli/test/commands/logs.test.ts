// `logs`, with a daemon that runs and without one.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, lastJson, runHere, serve } from "../Binary.ts";
import { joined, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");

verifies(
  ["RUN-147", "RUN-148"],
  "shows and follows what the daemon writes, also once it is gone",
  async () => {
    await joined(ada, "ada-agent");
    const first = await startDaemon(ada);
    const following = await serve(["logs", "--state", ada, "--follow", "--json"]);
    expect(await first.stop()).toBe(0);
    const ended = lastJson(await runHere(["logs", "--state", ada, "--lines", "50", "--json"]));
    const events = (ended["lines"] as ReadonlyArray<{ event: string }>).map(({ event }) => event);
    expect(events).toContain("endpoint ready");
    const text = await runHere(["logs", "--state", ada]);
    expect(text.stdout).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d info  endpoint ready  mcpUrl=http/m);
    const second = await startDaemon(ada);
    const readies = (): number =>
      [JSON.stringify(following.ready), ...following.lines].filter((line) =>
        line.includes('"endpoint ready"'),
      ).length;
    await expect.poll(readies, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
    for (const line of following.lines) expect(JSON.parse(line)).toHaveProperty("event");
    expect(await following.stop()).toBe(0);
    expect(await second.stop()).toBe(0);
  },
);

verifies(
  "RUN-147",
  "keeps a level, shows no control characters, and says where there is no log",
  async () => {
    const none = await runHere(["logs", "--state", join(root, "none"), "--json"]);
    expect([none.code, failureOf(none).reason]).toEqual([1, "no-folder"]);
    const state = join(root, "made");
    mkdirSync(join(state, "logs"), { recursive: true });
    const empty = await runHere(["logs", "--state", state, "--json"]);
    expect([empty.code, failureOf(empty).reason]).toEqual([1, "no-log"]);
    const lines = ["info", "warn"].map((level) =>
      JSON.stringify({ time: "2026-11-30T12:00:00.000Z", level, event: "e", what: "\u001b[31mred\n" }),
    );
    writeFileSync(join(state, "logs", "endpoint.log"), `${lines.join("\n")}\n{"torn\n`);
    const warned = await runHere(["logs", "--state", state, "--level", "warn"]);
    expect(warned.stdout.trimEnd().split("\n")).toEqual([
      expect.stringContaining("warn  e  what=\\u{1b}[31mred\\n"),
    ]);
    expect(warned.stderr).toContain("1 line could not be read");
    const json = lastJson(await runHere(["logs", "--state", state, "--level", "warn", "--json"]));
    expect(json).toMatchObject({ lines: [{ what: "\u001b[31mred\n" }], unreadable: 1 });
    expect((await runHere(["logs", "--state", state, "--level", "loud"])).code).toBe(2);
  },
);

verifies(
  "RUN-277",
  "no line of the level that is asked for is a good answer, and a folder that is not there is told as that",
  async () => {
    const state = join(root, "healthy");
    mkdirSync(join(state, "logs"), { recursive: true });
    const line = JSON.stringify({ time: "2026-11-30T12:00:00.000Z", level: "info", event: "e" });
    writeFileSync(join(state, "logs", "endpoint.log"), `${line}\n`);
    const text = await runHere(["logs", "--state", state, "--level", "error"]);
    expect([text.code, text.stdout]).toEqual([0, "There is no line of level error or above.\n"]);
    const json = await runHere(["logs", "--state", state, "--level", "error", "--json"]);
    expect([json.code, lastJson(json)]).toEqual([0, { lines: [], unreadable: 0 }]);
    const mistyped = failureOf(await runHere(["logs", "--state", join(root, "haelthy"), "--json"]));
    expect(mistyped).toEqual({
      reason: "no-folder",
      message: `there is no folder ${join(root, "haelthy")}`,
      next: expect.stringContaining("--state") as string,
    });
  },
);
