// An owner puts a firewall in front of its model while the daemon runs, looks at what is held, and decides about it.

import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect } from "vitest";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, runHere, serve, type Served } from "../Binary.ts";
import { joined, json, refusal, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
let adaDaemon: Served;
let bobDaemon: Served;

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(bob, "bob-agent");
  adaDaemon = await startDaemon(ada);
  bobDaemon = await startDaemon(bob);
});

afterAll(async () => {
  expect([await adaDaemon.stop(), await bobDaemon.stop()]).toEqual([0, 0]);
});

const rules = (file: object | null): void => {
  const path = join(bob, "firewall.json");
  if (file === null) rmSync(path);
  else writeFileSync(path, JSON.stringify(file), { mode: 0o600 });
};
const send = (text: string) => json("send", "agent:bob-agent", text, "--state", ada);

interface Inbox {
  readonly items: ReadonlyArray<{
    readonly deliveryToken: string;
    readonly item: { readonly message: { readonly content: ReadonlyArray<{ readonly text: string }> } };
    readonly guidance?: string;
    readonly released?: true;
  }>;
}
const inbox = async () => ((await json("inbox", "--state", bob)) as unknown as Inbox).items;
const texts = async (): Promise<ReadonlyArray<string | undefined>> =>
  (await inbox()).map(({ item }) => item.message.content[0]?.text);

interface Holds {
  readonly holds: ReadonlyArray<{ readonly holdId: string; readonly reason: string }>;
  readonly queued: number;
}
const holds = async () => (await json("hold", "list", "--state", bob)) as unknown as Holds;

/** As `until`, where the answer is another command's. */
const eventually = async (what: string, condition: () => Promise<boolean>): Promise<void> => {
  for (let asked = 0; !(await condition()); asked++) {
    if (asked === 300) throw new Error(`asked 300 times in vain until ${what}`);
    await sleep(50);
  }
};

/** Resolves once `hold list` ends as it is said to. */
const untilList = (reason: string | null) =>
  eventually(`hold list says ${reason ?? "what there is"}`, async () => {
    const ended = await runHere(["hold", "list", "--state", bob, "--json"]);
    return reason === null ? ended.code === 0 : ended.code === 1 && failureOf(ended).reason === reason;
  });

verifies(
  ["ING-166", "ING-167", "ING-160", "ING-138", "ING-165"],
  "a firewall appears while the daemon runs; what it holds is listed, shown, discarded and released",
  async () => {
    expect(await refusal("hold", "list", "--state", bob)).toEqual([1, "no-firewall"]);
    const rule = { when: { text: "(?i)secret" }, verdict: "hold", explanation: "Not in writing." };
    rules({ rules: [rule] });
    await untilList(null);
    for (const text of ["hello", "a secret", "another \u001b[31mSECRET", "bye"]) await send(text);
    await eventually("two are held", async () => (await holds()).holds.length === 2);
    expect(await texts()).toEqual(["hello", "bye"]);

    const [first, second] = (await holds()).holds.map(({ holdId }) => holdId) as [string, string];
    const listed = await runHere(["hold", "list", "--state", bob]);
    expect(listed.stdout).toMatch(/^ada-agent {2}hld_\S+ {2}.* bytes\n {4}rule 1: Not in writing\.$/m);
    expect(listed.stdout).not.toMatch(/secret/i);
    const shown = await runHere(["hold", "show", second, "--state", bob]);
    expect(shown.stdout).toContain("    another \\u{1b}[31mSECRET");
    const after = (await json("hold", "list", "--after", first, "--state", bob)) as unknown as Holds;
    expect(after.holds.map(({ holdId }) => holdId)).toEqual([second]);

    expect(await json("hold", "discard", first, "--state", bob)).toEqual({
      holds: [{ holdId: first, kind: "discarded" }],
    });
    expect(await refusal("hold", "release", second, "--state", bob)).toEqual([1, "release-not-allowed"]);
    rules({ rules: [rule], allowRelease: true });
    await eventually("a release is allowed", async () => {
      const ended = await runHere(["hold", "release", first, second, "--state", bob]);
      if (ended.code !== 0) return false;
      expect(ended.stdout).toBe(`${first} was discarded before, and stays so\n${second} is released\n`);
      return true;
    });
    expect(await texts()).toEqual(["hello", "bye", "another \u001b[31mSECRET"]);
    expect((await inbox()).map(({ released }) => released)).toEqual([undefined, undefined, true]);
    expect((await runHere(["inbox", "--state", bob])).stdout).toContain("your owner released it from a hold");
    expect((await runHere(["hold", "show", second, "--state", bob])).stdout).toMatch(/^released at /m);
    expect((await runHere(["hold", "list", "--state", bob])).stdout).toBe("Nothing is held.\n");
    writeFileSync(join(bob, "firewall.json"), "{", { mode: 0o600 });
    await eventually("status says it", async () =>
      (await runHere(["status", "--state", bob])).stdout.includes("Firewall firewall.json cannot be used"),
    );

    expect(await refusal("hold", "show", `hld_${"A".repeat(22)}`, "--state", bob)).toEqual([
      1,
      "unknown-hold",
    ]);
    expect(await refusal("hold", "show", "hld_x", "--state", bob)).toEqual([2, "usage"]);
    rules(null);
    await untilList("no-firewall");
  },
);

verifies(
  ["ING-145", "ING-151", "ING-147"],
  "a message whose check a kill ended is checked again, and arrives once with the owner's guidance",
  async () => {
    const before = await texts();
    const checker = join(bob, "checker");
    const program = (lines: string): void => {
      writeFileSync(checker, `#!/bin/sh\n${lines}\n`);
      chmodSync(checker, 0o700);
    };
    program("touch asked; exec sleep 60");
    rules({ rules: [], checker: { command: [checker] } });
    await untilList(null);
    await send("check me");
    await until("it is asked", () => existsSync(join(bob, "asked")));
    expect([await texts(), (await holds()).queued]).toEqual([before, 1]);
    expect((await json("status", "--state", bob))["health"]).toMatchObject({
      firewall: { usable: true, heldItems: 0, queuedItems: 1 },
    });
    await bobDaemon.stop("SIGKILL");
    program(`echo '{"verdict":"allow","guidance":"Be brief."}'`);
    bobDaemon = await serve(["daemon", "--state", bob, "--port", "0", "--mode", "credentials", "--json"]);
    await eventually("it has arrived", async () => (await texts()).length > before.length);
    expect(await texts()).toEqual([...before, "check me"]);
    expect((await inbox()).at(-1)?.guidance).toBe("Be brief.");
    expect(await holds()).toEqual({ holds: [], hasMore: false, queued: 0 });
  },
);
