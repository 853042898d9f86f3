// Two people's endpoints: every tool command, and a conversation exported by one and verified by the other.

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, repositoryRoot, run, runHere, serve, type Served } from "../Binary.ts";
import { joined, json, network, refusal, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
let daemons: ReadonlyArray<Served>;

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(bob, "bob-agent");
  await joined(join(root, "cyd"), "cyd-agent");
  daemons = await Promise.all([startDaemon(ada), startDaemon(bob)]);
});

afterAll(async () => {
  for (const daemon of daemons) expect(await daemon.stop()).toBe(0);
});

describe("the tool commands", () => {
  const text = "Tuesday?\n\u001b[31m — שלום 🎈";

  verifies(["RUN-01", "RUN-12"], "return the structured results of their tools", async () => {
    const { agentCard, health, ...status } = await json("status", "--state", ada);
    expect([status, typeof health]).toEqual([{ kind: "active", mode: "trusted-local" }, "object"]);
    expect(await json("agents", "--id", (agentCard as { agentId: string }).agentId, "--state", bob)).toEqual({
      kind: "found",
      agentCard,
    });
    expect(await json("agents", "--name", "nobody-agent", "--state", ada)).toEqual({ kind: "not_found" });
    expect(await json("agents", "--prefix", "bob", "--state", ada)).toMatchObject({
      kind: "page",
      hasMore: false,
    });

    const sent = await json("send", "agent:bob-agent", text, "--key", "one", "--state", ada);
    expect(sent).toMatchObject({ status: "certified", postId: expect.stringMatching(/^pst_/) as unknown });
    expect(await json("send", "agent:bob-agent", text, "--key", "one", "--state", ada)).toEqual(sent);

    type Inbox = { readonly items: Array<{ deliveryToken: string; item: object }> };
    let inbox: Inbox;
    // Certified is what the author's answer says; the other commits when the notice has reached it.
    while ((inbox = (await json("inbox", "--state", bob)) as Inbox).items.length === 0) await sleep(20);
    expect(inbox.items).toHaveLength(1);
    const [{ deliveryToken, item }] = inbox.items as [{ deliveryToken: string; item: object }];
    expect(item).toEqual({
      kind: "multicast",
      message: {
        kind: "direct",
        postId: sent["postId"],
        address: "agent:ada-agent",
        sender: "agent:ada-agent",
        content: [{ type: "text", text }],
      },
    });
    expect(await json("ack", deliveryToken, "--state", bob)).toEqual({});
    expect(await json("ack", deliveryToken, "--state", bob)).toEqual({});
    expect(await json("inbox", "--state", bob)).toEqual({ items: [] });

    expect(await json("history", "--state", bob)).toEqual({
      kind: "page",
      addresses: ["agent:ada-agent"],
      hasMore: false,
    });
    const history = await json("history", "agent:ada-agent", "--state", bob);
    expect(history).toMatchObject({ kind: "page", continuation: null });
    const [{ recordHash }] = history["records"] as [{ recordHash: string }];
    expect(await json("history", "agent:ada-agent", "--after", recordHash, "--state", bob)).toEqual({
      kind: "page",
      records: [],
      continuation: null,
    });
  });

  verifies(["RUN-02", "RUN-82"], "fail with the tool's reason, words and a next step", async () => {
    const failing: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
      [["send", "group:bob-agent", "x"], 1, "membership-invalid"],
      [["send", "agent:ada-agent", "x"], 1, "membership-invalid"],
      [["send", "agent:nobody-agent", "x"], 1, "unknown-agent"],
      [["send", "agent:bob-agent", "other", "--key", "one"], 1, "idempotency-conflict"],
      [["send", "agent:bob-agent", "x".repeat(262_118)], 1, "content-invalid"],
      [["history", "agent:cyd-agent"], 1, "history-gap"],
      [["ack", `dlv_${"A".repeat(43)}`], 1, "unknown-delivery"],
      [["inbox", "--cursor", "A".repeat(64)], 1, "invalid-continuation"],
    ];
    for (const [words, code, reason] of failing) {
      const ended = await runHere([...words, "--state", ada, "--json"]);
      expect([words[0], ended.stdout, ended.code, failureOf(ended).reason]).toEqual([
        words[0],
        "",
        code,
        reason,
      ]);
      expect(failureOf(ended).message).not.toBe("");
      expect(failureOf(ended).next).not.toBe("");
    }
    const named = await runHere([
      "send",
      "group:bob-agent,eve-agent,nobody-agent",
      "x",
      "--state",
      ada,
      "--json",
    ]);
    expect(failureOf(named)).toEqual({
      reason: "unknown-agent",
      message: "the Registry knows no agent of the name eve-agent, nobody-agent",
      next: `Look for it: \`social-harness agents --prefix <beginning> --state ${ada}\`.`,
    });
  });

  verifies("RUN-19", "send reads its text from stdin, byte for byte but for its last line end", async () => {
    const input = "\ufefffrom a file\n\u0000 é e\u0301\n\n";
    const sent = await run(["send", "agent:ada-agent", "--state", bob, "--json"], { input });
    expect(sent.code).toBe(0);
    const { records } = (await json("history", "agent:ada-agent", "--state", bob)) as {
      records: Array<{ recordCore: { action: { postIntent: { content: unknown } } } }>;
    };
    expect(records.at(-1)?.recordCore.action.postIntent.content).toEqual([
      { type: "text", text: input.slice(0, -1) },
    ]);
    for (const bad of ["", "\n", "\r\n", Buffer.from([0x68, 0xe9, 0x0a])]) {
      const refused = await run(["send", "agent:ada-agent", "-", "--state", bob, "--json"], { input: bad });
      expect([refused.code, failureOf(refused).reason]).toEqual([2, "usage"]);
    }
  });

  verifies(["RUN-19", "RUN-306"], "what never ends is read no further than a text can go on", async () => {
    const endless = function* () {
      for (;;) yield Buffer.alloc(65_536, "x");
    };
    for (const [args, ends] of [
      [
        ["send", "agent:ada-agent"],
        [1, "content-invalid"],
      ],
      [
        ["join", "-", "--name", "bob-agent"],
        [2, "usage"],
      ],
    ] as const) {
      const input = Readable.from(endless());
      const refused = await run([...args, "--state", bob, "--json"], { input });
      input.destroy();
      expect([refused.code, failureOf(refused).reason]).toEqual(ends);
    }
  });

  test("people see a peer's words behind a margin, with its controls made visible", async () => {
    const { stdout } = await runHere(["history", "agent:bob-agent", "--state", ada]);
    expect(stdout).toContain("    Tuesday?\n    \\u{1b}[31m — שלום 🎈\n");
    expect(stdout).not.toContain("\u001b");
  });

  verifies(
    ["RUN-13", "RUN-01"],
    "inbox --follow prints each item once and acknowledges nothing",
    async () => {
      const follower = await serve(["inbox", "--follow", "--json", "--state", ada]);
      await json("send", "agent:ada-agent", "while you watch", "--state", bob);
      const texts = () =>
        follower.lines.map((line) => {
          const { item } = JSON.parse(line) as { item: { message: { content: [{ text: string }] } } };
          return item.message.content[0].text;
        });
      while (texts().length < 2) await sleep(20);
      await sleep(600);
      expect(texts()).toEqual(["\ufefffrom a file\n\u0000 é e\u0301\n", "while you watch"]);
      expect(await follower.stop("SIGINT")).toBe(0);
      const inbox = (await json("inbox", "--state", ada)) as { items: ReadonlyArray<unknown> };
      expect(inbox.items).toEqual(follower.lines.map((line) => JSON.parse(line) as unknown));
    },
  );
});

describe("export and verify", () => {
  verifies(
    ["RUN-40", "RUN-41", "RUN-86"],
    "a file of one endpoint verifies under the key that another has pinned",
    async () => {
      const file = join(root, "talk.jsonl");
      const written = await json("export", "agent:bob-agent", "--output", file, "--state", ada);
      expect(written).toMatchObject({ address: "agent:bob-agent", file });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(await refusal("export", "agent:bob-agent", "--output", file, "--state", ada)).toEqual([
        1,
        "file-exists",
      ]);
      expect(await json("export", "agent:bob-agent", "--output", file, "--force", "--state", ada)).toEqual(
        written,
      );
      const piped = await runHere(["export", "agent:bob-agent", "--state", ada]);
      expect([piped.code, piped.stdout]).toEqual([0, readFileSync(file, "utf8")]);

      const verified = await json("verify", file, "--state", bob);
      expect(verified).toMatchObject({ ok: true, exportedBy: "ada-agent", records: written["records"] });
      // bob's own export is the same chain under his name for it.
      const other = join(root, "other.jsonl");
      await json("export", "agent:ada-agent", "--output", other, "--state", bob);
      const again = await json("verify", other, "--registry-key", network.ready["registryKey"] as string);
      expect(again).toMatchObject({ ok: true, exportedBy: "bob-agent", posts: verified["posts"] });
    },
  );

  verifies(
    "HIS-117",
    "verify --full checks a store beside its daemon, and finds what was changed in a copy",
    async () => {
      const bytesOf = (state: string): string => readFileSync(join(state, "endpoint.sqlite"), "base64");
      const { records, headRecordHash } = await json(
        "export",
        "agent:bob-agent",
        "--output",
        join(root, "beside.jsonl"),
        "--state",
        ada,
      );
      const verified = await json("verify", "--full", "--state", ada);
      expect(verified).toMatchObject({ ok: true, records: expect.any(Number) as unknown });
      expect(verified["conversations"]).toContainEqual({
        address: "agent:bob-agent",
        records,
        headRecordHash,
      });
      const { code, stdout } = await runHere(["verify", "--full", "--state", ada]);
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(/^verified: \d+ records? in \d+ conversations?, every/m),
      ]);

      const copy = join(root, "copy of ada");
      cpSync(ada, copy, { recursive: true, filter: (path) => !/sqlite|lock|endpoint\.json/.test(path) });
      const store = join(copy, "endpoint.sqlite");
      const original = new DatabaseSync(join(ada, "endpoint.sqlite"), { readOnly: true });
      original.exec(`VACUUM INTO '${store}'`);
      original.close();
      expect(await json("verify", "--full", "--state", copy)).toEqual(verified);
      const before = bytesOf(copy);
      const other = ["--registry-key", String(network.ready["routerKey"])];
      expect(await refusal("verify", "--full", "--state", copy, ...other)).toEqual([1, "store-corrupt"]);
      expect(bytesOf(copy)).toBe(before);
      const changed = new DatabaseSync(store);
      changed.exec("UPDATE record SET evidence = replace(evidence, 'durabilityVotes', 'durabilityvotes')");
      changed.close();
      const ended = await runHere(["verify", "--full", "--state", copy, "--json"]);
      expect([ended.code, failureOf(ended)]).toEqual([
        1,
        {
          reason: "store-corrupt",
          message: expect.stringMatching(/height 0 of conversation cnv_/) as unknown,
          next: "Restore it from a backup, nothing has been changed or deleted.",
        },
      ]);
    },
  );

  verifies(
    ["HIS-117", "RUN-03", "RUN-88"],
    "verify --full is refused where there is no store, and beside a file",
    async () => {
      const none = join(root, "nobody");
      expect(
        await refusal(
          "verify",
          "--full",
          "--registry-key",
          String(network.ready["registryKey"]),
          "--state",
          none,
        ),
      ).toEqual([1, "no-store"]);
      const folder = await runHere(["verify", "--full", "--state", none, "--json"]);
      expect([folder.code, failureOf(folder)]).toEqual([
        2,
        {
          reason: "usage",
          message: `there is no folder ${none}, whose pinned Registry key would be trusted`,
          next: expect.stringContaining("--state") as unknown,
        },
      ]);
      expect(await refusal("verify", "--full", "talk.jsonl", "--state", ada)).toEqual([2, "usage"]);
      expect(await refusal("verify", "--state", ada)).toEqual([2, "usage"]);
      expect(existsSync(none)).toBe(false);
    },
  );

  verifies("RUN-43", "the second verifier agrees, on an intact file and on a changed one", ({ skip }) => {
    const verifier = join(repositoryRoot, "tools", "verify.py");
    skip(!existsSync(verifier) || !hasPython(), "there is no tools/verify.py or no Python 3.11 here");
    const file = join(root, "talk.jsonl");
    const key = network.ready["registryKey"] as string;
    const ask = (path: string): number => {
      try {
        execFileSync("python3", [verifier, "export", path, "--registry-key", key, "--json"], {
          stdio: "pipe",
        });
        return 0;
      } catch (error) {
        return (error as { status: number }).status;
      }
    };
    expect(ask(file)).toBe(0);
    const changed = Buffer.from(readFileSync(file));
    const at = Math.floor(changed.length / 2);
    changed[at] = (changed[at] as number) ^ 1;
    writeFileSync(join(root, "changed.jsonl"), changed);
    expect(ask(join(root, "changed.jsonl"))).toBe(1);
  });
});

const hasPython = (): boolean => {
  try {
    execFileSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};
