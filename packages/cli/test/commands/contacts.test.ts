// A daemon whose owner says who may open a conversation, and what the others' commands are told.

import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, runHere, serve, type Served } from "../Binary.ts";
import { joined, json, refusal, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
const daemons: Array<Served> = [];

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(bob, "bob-agent");
  daemons.push(await startDaemon(ada));
});

afterAll(async () => {
  for (const daemon of daemons) expect(await daemon.stop()).toBe(0);
});

const startBob = (...flags: ReadonlyArray<string>): Promise<Served> =>
  serve(["daemon", "--state", bob, "--port", "0", "--json", ...flags]);

interface Inbox {
  readonly items: ReadonlyArray<{ readonly item: { readonly postId?: string } }>;
}

verifies(
  ["RUN-31", "RUN-83", "RUN-84", "HIS-158"],
  "whoever is kept out is told that the conversation was refused, and is let in when its owner says so",
  async () => {
    for (const [flags, times] of [
      [["--blocked", "ada-agent"], 1],
      [["--contacts", "known"], 2],
      [["--contacts", "cyd-agent,dan-agent"], 3],
    ] as const) {
      const daemon = await startBob(...flags);
      const ended = await runHere(["send", "agent:bob-agent", "hello", "--state", ada, "--json"]);
      expect([flags, ended.code, failureOf(ended)]).toMatchObject([
        flags,
        1,
        { reason: "refused", message: "bob-agent refused the conversation", refusedBy: "bob-agent" },
      ]);
      const { items } = (await json("inbox", "--state", ada)) as unknown as Inbox;
      expect(items).toHaveLength(times);
      const postId = items.at(-1)?.item.postId ?? "";
      expect(failureOf(ended)).toMatchObject({
        postId,
        next: expect.stringMatching(/^Its owner decides .*way\.$/),
      });
      expect(await refusal("withdraw", postId, "--state", ada)).toEqual([1, "already-refused"]);
      expect(await json("inbox", "--state", bob)).toEqual({ items: [] });
      expect(await daemon.stop()).toBe(0);
    }
    const last = await startBob("--contacts", "ada-agent,cyd-agent", "--blocked", "mal-agent");
    daemons.push(last);
    const policy = { contacts: ["ada-agent", "cyd-agent"], blocked: ["mal-agent"] };
    expect(last.ready).toMatchObject(policy);
    expect((await json("status", "--state", bob))["health"]).toMatchObject(policy);
    const shown = await runHere(["status", "--state", bob]);
    expect(shown.stdout).toMatch(/^Contacts ada-agent, cyd-agent; blocked: mal-agent$/m);
    expect(await json("send", "agent:bob-agent", "hello", "--state", ada)).toMatchObject({
      status: "certified",
    });
  },
);

verifies(
  ["RUN-31", "RUN-90", "RUN-91"],
  "names that are none are wrong usage, found before anything is served",
  async () => {
    for (const flag of ["--contacts", "--blocked"]) {
      const ended = await runHere(["daemon", "--state", ada, flag, "ada-agent,Bob", "--json"]);
      expect([ended.code, failureOf(ended)]).toEqual([
        2,
        {
          reason: "configuration-invalid",
          message: expect.stringMatching(
            new RegExp(`^${flag}\\.1: expected the name of an agent`),
          ) as unknown,
          next: expect.stringContaining("daemon --help") as unknown,
        },
      ]);
      const nobody = await runHere(["daemon", "--state", ada, flag, ",", "--json"]);
      expect([nobody.code, failureOf(nobody).reason]).toEqual([2, "configuration-invalid"]);
    }
  },
);
