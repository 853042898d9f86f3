// `npm run inspector`: the official Inspector's command line against a real endpoint, in each mode that the endpoint knows:
// the handshake, the catalog, a call that reads and, where it stands in the catalog, a call that sends. What it prints is
// decoded and compared; nothing is judged by eye.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { isDeepStrictEqual } from "node:util";
import { interruptible } from "../../packages/cli/src/lab/Interruptible.ts";
import * as Installed from "./Installed.ts";
import * as Program from "./Program.ts";
import * as Subject from "./Subject.ts";

const inspector = Installed.commandOf("@modelcontextprotocol/inspector", "clients/launcher/build/index.js");
const serverName = "endpoint";

type Json = Readonly<Record<string, unknown>>;
type Ask = (method: string, ...args: ReadonlyArray<string>) => Promise<Json>;

/** The Inspector reads its target from a file; with the era named it does not try the older one first. */
const asking = (folder: string, url: string): Ask => {
  const config = join(folder, "servers.json");
  const server = { type: "streamable-http", url, protocolEra: "modern" };
  writeFileSync(config, JSON.stringify({ mcpServers: { [serverName]: server } }));
  return async (method, ...args) => {
    const common = ["--cli", "--config", config, "--server", serverName, "--stored-auth-only"];
    const ended = await Program.run(inspector, [...common, "--format", "json", "--method", method, ...args]);
    const { result } = JSON.parse(ended.out || "{}") as { readonly result?: Json };
    if (ended.code !== 0 || result === undefined) {
      throw new Error(`${method} ended with code ${ended.code}: ${ended.out}${ended.errors}`);
    }
    return result;
  };
};

const fieldOf = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (inner, field) =>
      typeof inner === "object" && inner !== null
        ? (inner as Readonly<Record<string, unknown>>)[field]
        : undefined,
    value,
  );

/** What one endpoint answers that it should not, a sentence each. */
const inspect = async (ask: Ask): Promise<{ readonly asked: number; readonly faults: Array<string> }> => {
  const faults: Array<string> = [];
  let asked = 0;
  const expect = (what: string, found: unknown, wanted: unknown): void => {
    asked += 1;
    if (!isDeepStrictEqual(found, wanted))
      faults.push(`${what} is ${JSON.stringify(found)} and should be ${JSON.stringify(wanted)}`);
  };
  const hello = await ask("initialize");
  expect("the negotiated version", hello.protocolVersion, "2026-07-28");
  expect("the server's name", fieldOf(hello, "serverInfo", "name"), "social-harness");
  // The Inspector drops capabilities that it does not know, `events` among them.
  expect("the capability for tools", fieldOf(hello, "capabilities", "tools"), { listChanged: true });
  expect("the kind of instructions", typeof hello.instructions, "string");

  // Strict: it fails for a schema that some host cannot take.
  const { tools } = await ask("tools/list", "--strict");
  const names = Array.isArray(tools) ? tools.map((tool: unknown) => fieldOf(tool, "name")) : [];
  expect("whether send_message is listed", names.includes("send_message"), true);

  const send = { input: { to: "agent:bob", text: "Hello from the Inspector." } };
  const sent = await ask(
    "tools/call",
    "--tool-name",
    "send_message",
    "--tool-args-json",
    JSON.stringify(send),
  );
  expect("the status of a post", fieldOf(sent, "structuredContent", "status"), "certified");
  if (names.includes("status")) {
    const standing = await ask("tools/call", "--tool-name", "status");
    expect("the kind of status", fieldOf(standing, "structuredContent", "kind"), "active");
    expect("the name in status", fieldOf(standing, "structuredContent", "agentCard", "agentName"), "alice");
    const text = fieldOf(standing, "content", 0, "text");
    expect(
      "the text of status",
      typeof text === "string" && JSON.parse(text),
      fieldOf(standing, "structuredContent"),
    );
  }
  return { asked, faults };
};

const folder = mkdtempSync(join(tmpdir(), "social-harness-inspector-"));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
let asked = 0;
let faults = 0;
try {
  await interruptible((cleanUp) =>
    Subject.visitAll(cleanUp, async ({ name, url }) => {
      const found = await inspect(asking(folder, url));
      say(`${name}: ${found.asked - found.faults.length} of ${found.asked} answers as expected`);
      for (const fault of found.faults) say(`  ${fault}`);
      asked += found.asked;
      faults += found.faults.length;
    }),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
say(`inspector: ${asked - faults} passed, ${faults} unexpected`);
process.exitCode = faults === 0 ? 0 : 1;
