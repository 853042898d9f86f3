// A whole endpoint that is started again over requests of its earlier life, with a real network behind it and a real webhook in
// front. There are no operations that make requests yet: the store itself marks what the inbox takes in by its words.

import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Endpoint, startEndpoint } from "@social-harness/endpoint/Endpoint";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { CollectiveId } from "@social-harness/protocol/identity/Identifier";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { cert, key } from "@social-harness/testkit/SelfSigned";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import { registration } from "./Newcomer.ts";

const random = (byteCount: number): Buffer => randomBytes(byteCount);
const requestId = CollectiveId.fromBytes(Buffer.alloc(32, 6));
const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;

type Json = Readonly<Record<string, unknown>>;

interface Delivered {
  readonly eventId: string;
  /** A message's text, or why an operation failed. */
  readonly words: string;
}

const wordsOf = (item: {
  readonly message?: { readonly content: ReadonlyArray<{ readonly text: string }> };
  readonly error?: { readonly reason: string };
}): string => item.error?.reason ?? item.message?.content[0]?.text ?? "";

/** Passes every challenge, and answers each delivery with the status of the hour. */
const startReceiver = async () => {
  const receiver = { status: 503, url: "", refused: 0, taken: [] as Array<Delivered> };
  const server = createServer({ key, cert }, async (request, response) => {
    const chunks: Array<Buffer> = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (body.type === "verification") {
      return void response.end(JSON.stringify({ challenge: body.challenge }));
    }
    if (receiver.status === 200)
      receiver.taken.push({ eventId: body.eventId, words: wordsOf(body.data.item) });
    else receiver.refused += 1;
    response.writeHead(receiver.status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  receiver.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
};

verifies(
  ["ING-190", "ING-180", "ING-182", "ING-197"],
  "a start retires what was shown before it, and neither what it finds pending nor what it delivers",
  async () => {
    const network = await testNetwork();
    const receiver = await startReceiver();
    const stateFolder = StateFolder.open(join(network.folder, "ada"));
    Identity.create(stateFolder, random);
    const allowed = { addresses: ["127.0.0.1"], certificateAuthority: cert };
    writeFileSync(stateFolder.testCallbacks, JSON.stringify(allowed), { mode: 0o600 });
    const { registryKey, registryUrl, routerUrl, routerKey } = network;
    const configuration = Configuration.resolve({
      flags: {
        registryUrl,
        registryKey,
        routerUrl,
        routerKey,
        port: 0,
        mode: "credentials",
        logLevel: "error",
      },
    });
    let running: Endpoint | null = null;
    const start = async (): Promise<void> => {
      const logger = (): void => undefined;
      const life = { logger, clock: Date.now, random, allowTestCallbacks: true };
      running = await startEndpoint({ stateFolder, configuration, ...life });
    };
    const stop = async (): Promise<void> => running?.close();
    onTestFinished(stop);
    const inStore = <A>(body: (sqlite: DatabaseSync) => A): A => {
      const sqlite = new DatabaseSync(stateFolder.database);
      try {
        return body(sqlite);
      } finally {
        sqlite.close();
      }
    };
    const ask = async (role: "owner" | "runtime", method: string, params: Json): Promise<Json> => {
      const token = readFileSync(join(stateFolder.path, `${role}-token`), "utf8").trim();
      const meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      };
      const answer = await fetch((running as Endpoint).mcpUrl, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method,
          ...(method === "tools/call" ? { "mcp-name": String(params["name"]) } : {}),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
      });
      const { result, error } = (await answer.json()) as { readonly result?: Json; readonly error?: Json };
      if (result === undefined) throw new Error(JSON.stringify(error));
      return result;
    };
    const call = async (role: "owner" | "runtime", name: string, input: object = {}): Promise<Json> =>
      (await ask(role, "tools/call", { name, arguments: input }))["structuredContent"] as Json;
    const unread = (): number =>
      inStore((sqlite) =>
        Number(sqlite.prepare("SELECT count(*) AS n FROM inbox WHERE acknowledged_at IS NULL").get()?.["n"]),
      );

    await start();
    await call("owner", "register", registration("ada-agent"));
    inStore((sqlite) =>
      sqlite.exec(
        `CREATE TRIGGER request AFTER INSERT ON inbox WHEN new.record_hash IS NOT NULL AND new.item LIKE '%request%'
         BEGIN UPDATE inbox SET request_id = '${requestId}' WHERE sequence = new.sequence; END`,
      ),
    );
    const delivery = { mode: "webhook", url: receiver.url, secret };
    await ask("runtime", "events/subscribe", {
      name: "org.social-harness/inbox.item",
      arguments: {},
      delivery,
    });
    const bob = await network.open("bob-agent");
    for (const text of ["request that was shown", "a message", "request that is pending"]) {
      await bob.send("agent:ada-agent", text);
    }
    await until("all is in the inbox, and the first was tried", () => unread() === 3 && receiver.refused > 0);
    await stop();
    // The last one as a kill between commit and classification leaves it, the one before as it waits for a verdict.
    const shown = inStore((sqlite) => {
      sqlite.exec(
        `INSERT INTO pending (conversation_id, record_hash)
           SELECT conversation_id, record_hash FROM inbox WHERE item LIKE '%is pending%';
         INSERT INTO firewall_queue (conversation_id, record_hash, item, queued_at)
           SELECT conversation_id, record_hash, item, admitted_at FROM inbox WHERE item LIKE '%a message%';
         DELETE FROM inbox WHERE item NOT LIKE '%was shown%';
         DROP TRIGGER request`,
      );
      return sqlite.prepare("SELECT delivery_token AS token FROM webhook_occurrence").get() as {
        readonly token: string;
      };
    });
    receiver.status = 200;
    await start();
    await until("everything is received", () => receiver.taken.length === 3 && unread() === 0);
    expect(receiver.taken.map(({ words }) => words)).toEqual([
      "a message",
      "context-lost",
      "request that is pending",
    ]);
    const eventId = shown.token.replace("dlv_", "evt_");
    expect(receiver.taken.map((one) => one.eventId)).not.toContain(eventId);
    const read = await call("runtime", "read_event", { eventId });
    expect(wordsOf(read["item"] as never)).toBe("request that was shown");
    const lost = await call("runtime", "read_event", { eventId: receiver.taken[1]?.eventId });
    expect(lost["item"]).toMatchObject({ kind: "operationFailed", id: requestId, to: "agent:bob-agent" });

    // Receipts and an acknowledgment were all that the members could have heard of.
    expect(await call("owner", "acknowledge_delivery", { deliveryToken: shown.token })).toEqual({});
    const said = (table: string): number =>
      inStore((sqlite) => Number(sqlite.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]));
    expect([said("intent"), said("idempotency"), said("record")]).toEqual([0, 0, 3]);
    expect((await bob.history("agent:ada-agent")).length).toBe(3);
  },
  90_000,
);
