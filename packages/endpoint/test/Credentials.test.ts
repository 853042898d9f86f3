// An endpoint in credentials mode on its real folder: files that go bad, tokens that change, and what is said of them.

import { randomBytes } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";
import { startEndpoint } from "../src/Endpoint.ts";
import type { Configuration } from "../src/state/Configuration.ts";
import * as EndpointFile from "../src/state/EndpointFile.ts";
import * as Identity from "../src/state/Identity.ts";
import * as Log from "../src/state/Log.ts";
import * as PrivateFile from "../src/state/PrivateFile.ts";
import * as StateFolder from "../src/state/StateFolder.ts";
import * as Tokens from "../src/state/Tokens.ts";
import * as RawHttp from "./mcp/RawHttp.ts";

const random = (byteCount: number): Buffer => randomBytes(byteCount);
const { publicKey } = Ed25519.signerFromSeed(Buffer.alloc(32, 1));

const makeFolder = (): StateFolder.StateFolder => {
  const folder = StateFolder.open(join(temporaryFolder(), "state"));
  Identity.create(folder, random);
  return folder;
};

interface Started {
  readonly folder: StateFolder.StateFolder;
  readonly port: number;
  /** What is in the log files now. */
  readonly log: () => string;
  /** What was said in a level above info, while it ran. */
  readonly notices: ReadonlyArray<string>;
}

const start = async (folder: StateFolder.StateFolder, mode: Configuration["mode"]): Promise<Started> => {
  const file = Log.open({
    folder: folder.logs,
    level: "debug",
    clock: Date.now,
    secrets: () => Tokens.secrets(folder),
  });
  const notices: Array<string> = [];
  const endpoint = await startEndpoint({
    stateFolder: folder,
    configuration: {
      registryUrl: "http://127.0.0.1:9" as Configuration["registryUrl"],
      routerUrl: "ws://127.0.0.1:9" as Configuration["routerUrl"],
      registryKey: publicKey,
      routerKey: publicKey,
      port: 0,
      mode,
      logLevel: "debug",
      contacts: "everyone",
      blocked: [],
    },
    logger: (level, event, fields) => {
      file.write(level, event, fields);
      if (level !== "info") notices.push(`${event}: ${fields?.["explanation"]}`);
    },
    clock: Date.now,
    random,
  });
  onTestFinished(async () => {
    await endpoint.close();
    file.close();
  });
  return {
    folder,
    port: Number(new URL(endpoint.mcpUrl).port),
    log: () =>
      readdirSync(folder.logs)
        .map((name) => readFileSync(join(folder.logs, name), "utf8"))
        .join(""),
    notices,
  };
};

const textOf = (path: string): string => readFileSync(path, "utf8");
const status = async (port: number, token?: string): Promise<number> =>
  (await RawHttp.rpc(port, "tools/list", {}, token)).status;
const complaints = (notices: ReadonlyArray<string>): ReadonlyArray<string> =>
  notices.filter((line) => line.startsWith("a token cannot be used"));

verifies("MGT-71", "an endpoint makes what its mode needs, and says its mode where it is found", async () => {
  const folder = makeFolder();
  const { port } = await start(folder, "credentials");
  expect(EndpointFile.read(folder)?.mode).toBe("credentials");
  const [owner, runtime] = [textOf(folder.ownerToken), textOf(folder.runtimeToken)];
  expect(owner).not.toBe(runtime);
  expect([await status(port), await status(port, owner), await status(port, runtime)]).toEqual([
    401, 200, 200,
  ]);
});

verifies(
  "MGT-71",
  "a token counts from the next request after its file was written, and the old one no more",
  async () => {
    const folder = makeFolder();
    const { port } = await start(folder, "credentials");
    for (const path of [folder.ownerToken, folder.runtimeToken]) {
      for (let i = 0; i < 3; i++) {
        const before = textOf(path);
        const after = random(32).toString("base64url");
        expect(await status(port, after)).toBe(401);
        if (i === 0) writeFileSync(path, after);
        else PrivateFile.replace(path, after);
        expect([await status(port, before), await status(port, after)]).toEqual([401, 200]);
      }
    }
  },
);

verifies("MGT-71", "nobody gets in by a file that went bad, and the other is as good as before", async () => {
  const folder = makeFolder();
  const { port, notices } = await start(folder, "credentials");
  const [owner, runtime] = [textOf(folder.ownerToken), textOf(folder.runtimeToken)];
  const faults: ReadonlyArray<readonly [offered: string, spoil: (path: string) => void]> = [
    ["", (path) => rmSync(path)],
    ["", (path) => writeFileSync(path, "")],
    ["short", (path) => writeFileSync(path, "short")],
    ["as-it-was", (path) => chmodSync(path, 0o640)],
    ["as-it-was", (path) => writeFileSync(path, `${textOf(path)}\n`)],
  ];
  for (const [path, other] of [
    [folder.ownerToken, runtime],
    [folder.runtimeToken, owner],
  ] as const) {
    for (const [offered, spoil] of faults) {
      const text = textOf(path);
      const before = complaints(notices).length;
      spoil(path);
      for (let i = 0; i < 3; i++) {
        expect(await status(port, offered === "as-it-was" ? text : offered)).toBe(401);
        expect(await status(port, text)).toBe(401);
      }
      expect(await status(port, other)).toBe(200);
      expect(complaints(notices).length - before).toBe(1);
      rmSync(path, { force: true });
      PrivateFile.replace(path, text);
      expect(await status(port, text)).toBe(200);
    }
  }
  PrivateFile.replace(folder.runtimeToken, owner);
  expect([await status(port, owner), await status(port, runtime)]).toEqual([401, 401]);
  expect(complaints(notices).at(-1)).toContain("hold the same token");
});

verifies("MGT-71", "whoever starts an endpoint is told at once of a token that opens nothing", async () => {
  const folder = makeFolder();
  Tokens.ensure(folder, "credentials", random);
  writeFileSync(folder.runtimeToken, "too short");
  const { port, notices } = await start(folder, "credentials");
  expect(complaints(notices)).toEqual([expect.stringContaining(`${folder.runtimeToken} must hold`)]);
  expect(await status(port, textOf(folder.ownerToken))).toBe(200);
});

verifies("MGT-79", "C76: no token is in a log at any level, in an error or in an answer", async () => {
  const folder = makeFolder();
  const canaries = ["canary-owner-", "canary-runtime-", "canary-former-", "canary-guess-"].map((name) =>
    name.padEnd(43, "x"),
  );
  const [owner, runtime, former] = canaries as [string, string, string];
  PrivateFile.createOnce(folder.ownerToken, former);
  PrivateFile.createOnce(folder.runtimeToken, runtime);
  const { port, log } = await start(folder, "credentials");
  const seen: Array<string> = [];
  const ask = async (post: RawHttp.Post): Promise<void> => {
    const answer = await RawHttp.send(port, post);
    seen.push(JSON.stringify([answer.headers, answer.text]));
  };
  expect(await status(port, former)).toBe(200);
  PrivateFile.replace(folder.ownerToken, owner);
  for (const token of canaries) {
    const headers = RawHttp.bearer(token);
    const methods = ["server/discover", "tools/list", "events/list", "events/stream", "nonsense"];
    for (const method of methods) {
      const body = JSON.stringify(RawHttp.message(method, { name: token, token }));
      await ask({ headers: { ...RawHttp.headersOf(method), ...headers }, body });
      await ask({ headers: { ...RawHttp.headersOf(method), authorization: token }, body });
    }
    for (const path of ["/readyz", "/evidence", "/metrics", "/nowhere", `/mcp?token=${token}`]) {
      await ask({ method: "GET", path, headers });
    }
    await ask({ path: "/rounds", headers, body: JSON.stringify({ address: token }) });
    for (const name of ["register", "read_event", "send_message", "status", token]) {
      await ask({
        headers: { ...RawHttp.headersOf("tools/call", name), ...headers },
        body: JSON.stringify(
          RawHttp.message("tools/call", { name, arguments: { agentName: token, eventId: token } }),
        ),
      });
    }
    await ask({ headers, body: `{"${token}"` });
  }
  // Files that went bad are named, not quoted.
  writeFileSync(folder.runtimeToken, `${runtime}\n`);
  await ask({ headers: RawHttp.bearer(runtime) });
  chmodSync(folder.ownerToken, 0o644);
  await ask({ headers: RawHttp.bearer(owner) });
  expect(log()).toContain("a token cannot be used");
  for (const canary of ["canary-owner", "canary-runtime", "canary-former", "canary-guess"]) {
    expect(log()).not.toContain(canary);
    for (const text of seen) expect(text).not.toContain(canary);
  }
});
