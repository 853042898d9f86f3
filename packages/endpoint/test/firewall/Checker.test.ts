// The owner's checker in earnest: real programs and a real server on this machine, with everything that they can do wrong.

import { execFile } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { describe, expect, onTestFinished } from "vitest";
import type { CallbackAnswer, CallbackClient } from "../../src/callbacks/CallbackClient.ts";
import { explain, type CheckFailureCategory } from "../../src/firewall/CheckFailure.ts";
import * as Checker from "../../src/firewall/Checker.ts";
import type { CheckerSettings } from "../../src/firewall/RulesFile.ts";
import type { Subject, Verdict } from "../../src/firewall/Verdict.ts";
import { cardOf } from "../ingress/CertifiedPosts.ts";
import { textItem } from "../mcp/TestEndpoint.ts";

const subjectOf = (text: string): Subject => ({
  item: textItem(text) as Subject["item"],
  recordHash: "rch_" as never,
  sender: cardOf("bob"),
  isKnown: true,
  order: 1,
  receivedAt: Date.parse("2026-11-30T12:00:00Z"),
});

interface Asked {
  readonly verdict: Verdict;
  /** Between the questions. */
  readonly pauses: ReadonlyArray<number>;
}

const signal = (): AbortSignal => new AbortController().signal;

const ask = async (
  settings: CheckerSettings,
  {
    text = "hello",
    checkMsMax = 20_000,
    callbacks = null as CallbackClient | null,
    folder = temporaryFolder(),
  } = {},
): Promise<Asked> => {
  const pauses: Array<number> = [];
  const options = {
    callbacks,
    folder,
    checkMsMax,
    sleep: async (ms: number) => void pauses.push(ms),
  };
  return { verdict: await Checker.create(settings, options)(() => subjectOf(text), signal()), pauses };
};

const failed = (category: CheckFailureCategory): Asked => ({
  verdict: { verdict: "hold", reason: "check-failed", explanation: explain(category) },
  pauses: [500, 2_000],
});
const once = (verdict: Verdict): Asked => ({ verdict, pauses: [] });

const answers: ReadonlyArray<readonly [answer: string, Asked]> = [
  ['{"verdict":"allow"}', once({ verdict: "allow" })],
  [' {"verdict":"allow"}\r\n', once({ verdict: "allow" })],
  ['{"verdict":"allow","guidance":"Be kind."}', once({ verdict: "allow", guidance: "Be kind." })],
  ['{"verdict":"allow","guidance":""}', once({ verdict: "allow" })],
  ['{"verdict":"hold","reason":"spam"}', once({ verdict: "hold", reason: "checker", explanation: "spam" })],
  [
    '{"verdict":"hold","reason":"\\ud800"}',
    once({ verdict: "hold", reason: "checker", explanation: "\ufffd" }),
  ],
  ['{"verdict":"allow","guidance":"\\ud800"}', once({ verdict: "allow", guidance: "\ufffd" })],
  ["", failed("malformed")],
  ["allow", failed("malformed")],
  ["null", failed("malformed")],
  ['{"verdict":"allow"}{"verdict":"allow"}', failed("malformed")],
  ['{"verdict":"hold","verdict":"allow"}', failed("malformed")],
  ['{"verdict":"maybe"}', failed("malformed")],
  ['{"verdict":"hold"}', failed("malformed")],
  ['{"verdict":"allow","reason":"x"}', failed("malformed")],
  ['{"verdict":"allow","extra":1}', failed("malformed")],
  ['{"verdict":"allow","guidance":null}', failed("malformed")],
];

describe.skipIf(process.platform === "win32")("a command", () => {
  const script = (lines: string, name = "check"): { readonly folder: string; readonly path: string } => {
    const folder = temporaryFolder();
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${lines}\n`);
    chmodSync(path, 0o700);
    return { folder, path };
  };
  const run = (lines: string, more: Parameters<typeof ask>[1] = {}): Promise<Asked> => {
    const { folder, path } = script(lines);
    return ask({ command: [path] }, { folder, ...more });
  };
  const isAlive = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      // A process that has ended and that nobody has asked about is not alive.
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
    } catch {
      return false;
    }
  };

  verifies(["ING-150", "ING-154"], "is believed when it says one verdict, and nothing else", async () => {
    for (const [answer, expected] of answers) {
      const { folder, path } = script('cat "$1"');
      writeFileSync(join(folder, "answer"), answer);
      expect([answer, await ask({ command: [path, "answer"] }, { folder })]).toEqual([answer, expected]);
    }
    const longest = "é".repeat(2_048);
    const hold = "x".repeat(1_024);
    for (const [answer, expected] of [
      [{ verdict: "allow", guidance: longest }, once({ verdict: "allow", guidance: longest })],
      [{ verdict: "allow", guidance: `${longest}x` }, failed("malformed")],
      [{ verdict: "hold", reason: hold }, once({ verdict: "hold", reason: "checker", explanation: hold })],
      [{ verdict: "hold", reason: `${hold}x` }, failed("malformed")],
    ] as const) {
      const { folder, path } = script('cat "$1"');
      writeFileSync(join(folder, "answer"), JSON.stringify(answer));
      expect(await ask({ command: [path, "answer"] }, { folder })).toEqual(expected);
    }
    expect(await run("printf '\\377\\376'")).toEqual(failed("malformed"));
  });

  verifies(
    "ING-151",
    "gets the whole question on its input, and nothing of this process's environment",
    async () => {
      process.env["SOCIAL_HARNESS_ADMISSION"] = "adm_secret";
      onTestFinished(() => void delete process.env["SOCIAL_HARNESS_ADMISSION"]);
      const text = "x".repeat(262_000);
      const { folder, path } = script(
        'cat > question; env > environment; pwd > place; echo "$@" > words; echo \'{"verdict":"allow"}\'',
      );
      expect(await ask({ command: [path, "$HOME", "a b; exit 3"] }, { folder, text })).toEqual(
        once({ verdict: "allow" }),
      );
      const { agentId, principalId } = cardOf("bob");
      expect(JSON.parse(readFileSync(join(folder, "question"), "utf8"))).toEqual({
        item: textItem(text),
        sender: { agentId, agentName: "bob", principalId },
        knownSender: true,
        receivedAt: "2026-11-30T12:00:00.000Z",
      });
      const names = readFileSync(join(folder, "environment"), "utf8").match(/^\w+(?==)/gm) ?? [];
      expect(names.filter((name) => !["PWD", "SHLVL", "_", "OLDPWD"].includes(name)).toSorted()).toEqual([
        "LANG",
        "PATH",
      ]);
      expect(readFileSync(join(folder, "place"), "utf8").trim()).toMatch(new RegExp(`${folder}$`));
      expect(readFileSync(join(folder, "words"), "utf8")).toBe("$HOME a b; exit 3\n");
    },
  );

  verifies("ING-151", "may decide without reading its input", async () => {
    const allowed = await run('exec 0<&-; echo \'{"verdict":"allow"}\'', { text: "x".repeat(262_000) });
    expect(allowed).toEqual(once({ verdict: "allow" }));
  });

  verifies("ING-154", "that cannot be started, or ends badly, is asked twice more", async () => {
    expect(await ask({ command: ["/nowhere/at/all"] })).toEqual(failed("not-started"));
    const { folder, path } = script("exit 0");
    chmodSync(path, 0o600);
    expect(await ask({ command: [path] }, { folder })).toEqual(failed("not-started"));
    expect(await ask({ command: [path, "x".repeat(3_000_000)] }, { folder })).toEqual(failed("not-started"));
    expect(await run('echo \'{"verdict":"allow"}\'; exit 1')).toEqual(failed("exited"));
    expect(await run('echo \'{"verdict":"allow"}\'; kill -9 $$')).toEqual(failed("exited"));
    const mended = await run('test -e tried && echo \'{"verdict":"allow"}\' || { touch tried; exit 1; }');
    expect(mended).toEqual({ verdict: { verdict: "allow" }, pauses: [500] });
  });

  verifies("ING-153", "that hangs is killed with all that it started", async () => {
    for (const lines of [
      "echo $$ >> pids; sleep 60 & echo $! >> pids; wait",
      // It is gone itself, and what it left behind keeps its output open.
      "trap '' TERM HUP; sleep 60 & echo $! >> pids; echo '{\"verdict\":\"allow\"}'",
    ]) {
      const { folder, path } = script(lines);
      expect(await ask({ command: [path] }, { folder, checkMsMax: 300 })).toEqual(failed("timeout"));
      const pids = readFileSync(join(folder, "pids"), "utf8").trim().split("\n").map(Number);
      expect(pids.length).toBeGreaterThanOrEqual(3);
      await until("nobody is left", () => !pids.some(isAlive));
    }
  });

  verifies("ING-249", "leaves nothing running after its verdict", async () => {
    for (const ending of ["exit 0", "exit 1"]) {
      const { folder, path } = script(
        `sleep 60 > /dev/null & echo $! >> pids; echo '{"verdict":"allow"}'; ${ending}`,
      );
      expect(await ask({ command: [path] }, { folder })).toEqual(
        ending === "exit 0" ? once({ verdict: "allow" }) : failed("exited"),
      );
      const pids = readFileSync(join(folder, "pids"), "utf8").trim().split("\n").map(Number);
      await until("nobody is left", () => !pids.some(isAlive));
    }
  });

  verifies("ING-249", "is not started where there is no descriptor for its pipes", async () => {
    const { folder, path } = script('echo \'{"verdict":"allow"}\'');
    const lines = `
      import { closeSync, openSync, writeSync } from "node:fs";
      import * as Checker from ${JSON.stringify(import.meta.resolve("../../src/firewall/Checker.ts"))};
      const options = { callbacks: null, folder: ${JSON.stringify(folder)}, sleep: async () => undefined };
      const subject = ${JSON.stringify(subjectOf("hello"))};
      const ask = () =>
        Checker.create({ command: [${JSON.stringify(path)}] }, options)(() => subject, new AbortController().signal);
      await ask();
      const taken = [];
      try {
        for (;;) taken.push(openSync("/dev/null"));
      } catch {
        const held = await ask();
        for (const descriptor of taken) closeSync(descriptor);
        writeSync(1, JSON.stringify([held, await ask()]));
      }`;
    const node = [JSON.stringify(process.execPath), "--input-type=module", "-e", '"$0"'].join(" ");
    const { stdout } = await promisify(execFile)("/bin/sh", ["-c", `ulimit -n 256; exec ${node}`, lines]);
    expect(JSON.parse(stdout)).toEqual([failed("not-started").verdict, { verdict: "allow" }]);
  });

  verifies(
    "ING-153",
    "that says more than a verdict can be is killed long before it has said all",
    async () => {
      const before = process.memoryUsage().rss;
      const { folder, path } = script("echo $$ >> pids; exec head -c 100000000 /dev/zero");
      expect(await ask({ command: [path] }, { folder })).toEqual(failed("too-large"));
      expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);
      const pids = readFileSync(join(folder, "pids"), "utf8").trim().split("\n").map(Number);
      await until("nobody is left", () => !pids.some(isAlive));
    },
  );

  verifies("ING-138", "is killed when its question is not asked any more", async () => {
    const { folder, path } = script("echo $$ > pid.new; mv pid.new pid; sleep 60");
    const stopping = new AbortController();
    const check = Checker.create({ command: [path] }, { callbacks: null, folder });
    const asked = check(() => subjectOf("hello"), stopping.signal);
    await until("it runs", () => existsSync(join(folder, "pid")));
    stopping.abort();
    await expect(asked).rejects.toThrow();
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    await until("it is gone", () => !isAlive(pid));
  });
});

describe("an address of this machine", () => {
  const listening = async (server: TcpServer): Promise<string> => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/check?of=us`;
  };
  const serve = (listener: RequestListener): Promise<string> => {
    const server = createServer(listener);
    onTestFinished(() => server.closeAllConnections());
    return listening(server);
  };

  verifies(
    ["ING-150", "ING-152"],
    "is asked by one POST, and believed when it says one verdict",
    async () => {
      for (const [answer, expected] of answers) {
        const url = await serve((_request, response) => response.end(answer));
        expect([answer, await ask({ url })]).toEqual([answer, expected]);
      }
      const seen: Array<unknown> = [];
      const url = await serve(({ method, url: target, headers }, response) => {
        seen.push([method, target, headers["content-type"], headers.authorization]);
        response.end('{"verdict":"allow"}');
      });
      await ask({ url });
      await ask({ url, token: "t0ken" });
      expect(seen).toEqual([
        ["POST", "/check?of=us", "application/json", undefined],
        ["POST", "/check?of=us", "application/json", "Bearer t0ken"],
      ]);
    },
  );

  verifies(
    ["ING-152", "ING-153", "ING-154"],
    "that fails in any way is asked twice more, and followed nowhere",
    async () => {
      let followed = 0;
      const elsewhere = await serve((_request, response) => {
        followed++;
        response.end('{"verdict":"allow"}');
      });
      const table: ReadonlyArray<readonly [RequestListener, CheckFailureCategory]> = [
        [(_request, response) => response.writeHead(302, { location: elsewhere }).end(), "refused"],
        [(_request, response) => response.writeHead(500).end('{"verdict":"allow"}'), "refused"],
        [(_request, response) => response.writeHead(201).end('{"verdict":"allow"}'), "refused"],
        [({ socket }) => socket.destroy(), "unreachable"],
        [
          (_request, response) => {
            response.writeHead(200, { "content-length": 1_000 });
            response.write("{", () => response.destroy());
          },
          "unreachable",
        ],
        [() => undefined, "timeout"],
        [(_request, response) => void response.writeHead(200).write("{"), "timeout"],
        [(_request, response) => response.end(Buffer.alloc(100_000_000)), "too-large"],
      ];
      for (const [listener, category] of table) {
        let asked = 0;
        const url = await serve((request, response) => {
          asked++;
          listener(request, response);
        });
        const checkMsMax = category === "timeout" ? 200 : 20_000;
        expect([await ask({ url }, { checkMsMax }), asked]).toEqual([failed(category), 3]);
      }
      expect(followed).toBe(0);
      const socketOf = async (answer: string) => {
        let gone = 0;
        const server = createTcpServer((socket) => {
          socket.on("error", () => undefined);
          socket.on("close", () => gone++);
          socket.once("data", () => socket.write(answer));
        });
        return { url: await listening(server), gone: () => gone };
      };
      // Another protocol, and an answer whose rest nobody waits for: both leave no connection behind.
      for (const answer of [
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        "HTTP/1.1 500 No\r\ncontent-length: 1000\r\n\r\n",
      ]) {
        const { url, gone } = await socketOf(answer);
        expect(await ask({ url })).toEqual(failed("refused"));
        await until("its connections are gone", () => gone() === 3);
      }
      expect(await ask({ url: "http://127.0.0.1:1/" })).toEqual(failed("unreachable"));
    },
  );
});

verifies("ING-240", "no way of asking outlives its deadline or its end, whatever it does", async () => {
  const deaf: CallbackClient = { post: () => new Promise(() => undefined), close: async () => undefined };
  const settings = { url: "https://checker.example/check" };
  expect(await ask(settings, { callbacks: deaf, checkMsMax: 50 })).toEqual(failed("timeout"));
  const stopping = new AbortController();
  const check = Checker.create(settings, { callbacks: deaf, folder: temporaryFolder() });
  const asked = check(() => subjectOf("hello"), stopping.signal);
  stopping.abort();
  await expect(asked).rejects.toThrow();
});

verifies("ING-152", "an address elsewhere is asked through the client of all callbacks alone", async () => {
  const url = "https://checker.example/check";
  const posted: Array<readonly [string, Readonly<Record<string, string>>, string]> = [];
  const client = (answer: CallbackAnswer): CallbackClient => ({
    post: async ({ url: target, headers, body }) => {
      posted.push([target, headers, Buffer.from(body).toString("utf8")]);
      return answer;
    },
    close: async () => undefined,
  });
  const answer = (body: string, status = 200): CallbackAnswer => ({
    kind: "answered",
    status,
    retryAfterMs: null,
    body: Buffer.from(body),
  });
  const through = (said: CallbackAnswer) => ask({ url, token: "t0ken" }, { callbacks: client(said) });
  for (const [said, expected] of answers)
    expect([said, await through(answer(said))]).toEqual([said, expected]);
  expect(posted[0]).toEqual([
    url,
    { "content-type": "application/json", authorization: "Bearer t0ken" },
    expect.stringContaining('"knownSender":true') as unknown,
  ]);
  expect(await through(answer('{"verdict":"allow"}', 204))).toEqual(failed("refused"));
  expect(await through({ kind: "failed", category: "address-refused" })).toEqual(failed("unreachable"));
  expect(await through({ kind: "failed", category: "timeout" })).toEqual(failed("timeout"));
  expect(await ask({ url })).toEqual(failed("unreachable"));
});
