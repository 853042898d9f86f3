// An owner puts a firewall in front of its model while the daemon runs, looks at what is held, and decides about it.

import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect } from "vitest";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, runHere, serve, type Served, start } from "../Binary.ts";
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

/** A daemon as a person has it in a terminal, with all that it prints. */
const watched = () => {
  const child = start(["daemon", "--state", bob, "--port", "0"], {});
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => (text += part));
  }
  const closed = new Promise((resolve) => child.once("close", resolve));
  return {
    text: () => text,
    until: (words: RegExp, from = 0) =>
      until(`it prints ${words.source}`, () => words.test(text.slice(from))),
    stop: () => {
      child.kill("SIGTERM");
      return closed;
    },
  };
};

/** Resolves once `status` says of the firewall what it is said to. */
const untilFirewall = (standing: Readonly<Record<string, unknown>>) =>
  eventually(`the firewall is ${JSON.stringify(standing)}`, async () => {
    const { firewall } = (await json("status", "--state", bob))["health"] as {
      readonly firewall: Readonly<Record<string, unknown>> | null;
    };
    return Object.entries(standing).every(([field, value]) => firewall?.[field] === value);
  });

verifies(
  ["ING-166", "ING-167", "ING-160", "ING-138", "ING-165", "ING-223", "ING-224", "ING-227"],
  "a firewall appears while the daemon runs; what it holds is listed, shown, discarded and released",
  async () => {
    expect((await runHere(["hold", "list", "--state", bob])).stdout).toBe(
      "Nothing is held.\nThere is no firewall: the state folder has no firewall.json (docs/firewall.md).\n",
    );
    const rule = { when: { text: "(?i)secret" }, verdict: "hold", explanation: "Not in writing." };
    rules({ rules: [rule] });
    await untilFirewall({ file: "usable", explanation: null });
    for (const text of ["hello", "a secret", "another \u001b[31mSECRET", "bye"]) await send(text);
    await eventually("two are held", async () => (await holds()).holds.length === 2);
    await eventually("the last has passed", async () => (await texts()).length === 2);
    expect(await texts()).toEqual(["hello", "bye"]);

    const [first, second] = (await holds()).holds.map(({ holdId }) => holdId) as [string, string];
    const listed = await runHere(["hold", "list", "--state", bob]);
    // To the second and with the zone, so that it can be found in a log.
    expect(listed.stdout).toMatch(
      /^ada-agent {2}hld_\S+ {2}.*\d:\d\d:\d\d.* \S+ {2}\d+ bytes\n {4}rule 1: Not in writing\.$/m,
    );
    expect(listed.stdout).not.toMatch(/secret/i);
    const shown = await runHere(["hold", "show", second, "--state", bob]);
    expect(shown.stdout).toContain("    another \\u{1b}[31mSECRET");
    const after = (await json("hold", "list", "--after", first, "--state", bob)) as unknown as Holds;
    expect(after.holds.map(({ holdId }) => holdId)).toEqual([second]);

    const unknown = `hld_${"A".repeat(22)}`;
    const words = ["hold", "discard", first, unknown, second, "--state", bob, "--json"];
    const refused = await runHere(words);
    expect([refused.code, failureOf(refused)]).toEqual([
      1,
      {
        reason: "unknown-hold",
        message: "number 2 of 3: no message was ever held under that id",
        next: expect.stringMatching(/^Nothing was done with any of them\./) as unknown,
      },
    ]);
    expect((await holds()).holds).toHaveLength(2);
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
    await untilFirewall({ file: "unusable", explanation: "it is no JSON" });
    const standing = (await runHere(["status", "--state", bob])).stdout;
    expect(standing).toContain(
      "Firewall firewall.json cannot be used; nothing held\n         it is no JSON\n",
    );

    expect(await refusal("hold", "show", unknown, "--state", bob)).toEqual([1, "unknown-hold"]);
    expect(await refusal("hold", "show", "hld_x", "--state", bob)).toEqual([2, "usage"]);
    await send("held while it is broken");
    await eventually("it is held", async () => (await holds()).holds.length === 1);
    rules(null);
    await untilFirewall({ file: "absent", explanation: null, heldItems: 1 });
    const left = (await runHere(["status", "--state", bob])).stdout;
    expect(left).toContain("Firewall no firewall.json; 1 message held: `social-harness hold list --state");
    const [last] = (await holds()).holds.map(({ holdId }) => holdId) as [string];
    expect((await runHere(["hold", "show", last, "--state", bob])).stdout).toContain(
      "held while it is broken",
    );
    expect(await json("hold", "discard", last, "--state", bob)).toMatchObject({ holds: [{ holdId: last }] });
    expect((await json("status", "--state", bob))["health"]).toMatchObject({ firewall: null });
  },
);

verifies("ING-227", "of several tokens none is acknowledged while one of them is unknown", async () => {
  await send("one more");
  await eventually("it is there", async () => (await texts()).includes("one more"));
  const before = await inbox();
  const token = before.at(-1)?.deliveryToken ?? "";
  const unknown = `dlv_${"A".repeat(43)}`;
  const refused = await runHere(["ack", token, unknown, "--state", bob, "--json"]);
  expect([refused.code, failureOf(refused)]).toMatchObject([
    1,
    { reason: "unknown-delivery", message: "number 2 of 2: no item was ever handed out under that token" },
  ]);
  expect(await inbox()).toEqual(before);
  expect(await refusal("ack", unknown, "--state", bob)).toEqual([1, "unknown-delivery"]);
  expect((await runHere(["ack", token, token, "--state", bob])).stdout).toBe("2 items acknowledged\n");
  expect(await inbox()).toHaveLength(before.length - 1);
});

verifies(
  ["ING-225", "ING-226"],
  "whoever looks at the daemon reads how the firewall stands, what it holds, and that trouble is over",
  async () => {
    await bobDaemon.stop();
    rules({ rules: [{ when: { text: "secret" }, verdict: "hold" }], checker: { command: ["/none/such"] } });
    const shown = watched();
    try {
      await shown.until(/^Firewall the checker is not complete; /m);
      await shown.until(
        /^the firewall's checker is not complete: .*: checker\.command, entry 1: no program/m,
      );
      await shown.until(/^the firewall's rules are in force$/m);
      await send("a secret");
      await shown.until(
        /^a message is held by the firewall \(rule 1\): `social-harness hold show hld_\S+ --state \S+`$/m,
      );
      rules({});
      await shown.until(/^firewall\.json cannot be used: .*: expected rules, a checker, or both$/m);
      const before = shown.text().length;
      rules({ rules: [] });
      await shown.until(/^the firewall's rules are in force$/m, before);
      rules(null);
      await shown.until(/^there is no firewall any more: what is queued is let through$/m);
    } finally {
      await shown.stop();
      bobDaemon = await startDaemon(bob);
    }
    const { holds: left } = await holds();
    await json("hold", "discard", ...left.map(({ holdId }) => holdId), "--state", bob);
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
    await untilFirewall({ file: "usable", explanation: null });
    await send("check me");
    await until("it is asked", () => existsSync(join(bob, "asked")));
    expect([await texts(), (await holds()).queued]).toEqual([before, 1]);
    expect((await json("status", "--state", bob))["health"]).toMatchObject({
      firewall: { file: "usable", explanation: null, heldItems: 0, queuedItems: 1 },
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
