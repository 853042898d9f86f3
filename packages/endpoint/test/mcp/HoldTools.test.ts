// The owner's four tools for what its firewall holds, over MCP: who has them, what they show and do, and that the model sees
// nothing of what is queued or held, by whatever it asks.

import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import * as Content from "@social-harness/protocol/history/Content";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import * as Queue from "../../src/firewall/Queue.ts";
import type { Verdict } from "../../src/firewall/Verdict.ts";
import * as Classify from "../../src/ingress/Classify.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import type { HoldTools } from "../../src/operations/Holds.ts";
import type { Mode } from "../../src/state/Configuration.ts";
import { cardOf, makeConversation, seededRandom } from "../ingress/CertifiedPosts.ts";
import * as RawHttp from "./RawHttp.ts";
import {
  ownerToken,
  runtimeToken,
  startEndpoint,
  type TestEndpoint,
  type TestEndpointOptions,
} from "./TestEndpoint.ts";
import { everyTool, goodArguments, id } from "./ToolArguments.ts";

const start = async (options: TestEndpointOptions = {}): Promise<TestEndpoint> => {
  const endpoint = await startEndpoint(options);
  onTestFinished(endpoint.close);
  return endpoint;
};

const tools: Readonly<Record<HoldTools, ReadonlyArray<string>>> = {
  kept: ["list_holds", "read_hold", "discard_hold"],
  releasable: ["list_holds", "read_hold", "discard_hold", "release_hold"],
};
const states: ReadonlyArray<HoldTools> = ["kept", "releasable"];

/** Queues posts and settles those that have a verdict. */
const arrive = (
  { store }: TestEndpoint,
  posts: ReadonlyArray<readonly [text: string, verdict: Verdict | null]>,
): void => {
  const random = seededRandom(`holds ${posts.map(([text]) => text).join()}`);
  const bob = makeConversation(store, "alice", ["alice", "bob"]);
  for (const [text] of posts) bob.post("bob", Content.ofText(text));
  store.db.transaction(() => {
    Classify.classifyPending(store.db, {
      self: cardOf("alice").agentId,
      now: 1_000,
      random,
      rowsMax: 1_000,
      admit: (db, admission, conversationId) => {
        Queue.add(db, { ...admission, conversationId });
        return false;
      },
    });
    const entries = Queue.next(store.db, bob.members.conversationId, 1_000);
    for (const [index, [, verdict]] of posts.entries()) {
      if (verdict !== null) Queue.settle(store.db, entries[index] as never, verdict, { now: 2_000, random });
    }
  });
};

const byRule: Verdict = { verdict: "hold", reason: "rule", rule: 2, explanation: "Not him." };
const byChecker: Verdict = { verdict: "hold", reason: "check-failed", explanation: "No answer." };

interface Shown {
  readonly holds: ReadonlyArray<{ readonly holdId: string }>;
  readonly hasMore: boolean;
  readonly queued: number;
}

const calling = ({ port }: TestEndpoint, token: string | undefined) => {
  const call = async (name: string, args: object = {}) =>
    (await RawHttp.callTool(port, name, args, token)).body;
  const result = async (name: string, args: object = {}) => {
    const { result: answer, error } = await call(name, args);
    expect([name, error]).toEqual([name, undefined]);
    return answer?.["structuredContent"] as Record<string, unknown>;
  };
  return {
    call,
    result,
    list: async (args: object = {}) => (await result("list_holds", args)) as unknown as Shown,
  };
};

verifies("ING-160", "the owner has them once registered, and nobody else ever", async () => {
  const callers: ReadonlyArray<readonly [Mode, string | undefined, boolean]> = [
    ["trusted-local", undefined, false],
    ["trusted-local", ownerToken, true],
    ["credentials", runtimeToken, false],
    ["credentials", ownerToken, true],
  ];
  for (const [mode, token, isOwner] of callers) {
    for (const holdTools of states) {
      for (const registered of [false, true]) {
        const endpoint = await start({ mode, holdTools, registered });
        const client = await endpoint.client(token);
        const has = (await client.listTools()).tools.map(({ name }) => name);
        const expected = isOwner && registered ? tools[holdTools] : [];
        expect([mode, holdTools, has.filter((name) => /_holds?$/.test(name))]).toEqual([
          mode,
          holdTools,
          expected,
        ]);
        for (const name of tools.releasable.filter((tool) => !expected.includes(tool))) {
          const { error } = await calling(endpoint, token).call(name, goodArguments[name as never]);
          const issue = {
            path: ["name"],
            message: expect.stringMatching(/^(expected one|there is no)/) as unknown,
          };
          expect([name, error?.code, error?.data]).toEqual([name, -32_602, { issues: [issue] }]);
        }
      }
    }
  }
});

verifies(
  ["ING-161", "ING-162"],
  "what is held is listed without its content, and shown with it one by one",
  async () => {
    const endpoint = await start({ mode: "credentials", holdTools: "kept" });
    const { call, result, list } = calling(endpoint, ownerToken);
    expect(await list()).toEqual({ holds: [], hasMore: false, queued: 0 });
    const posts = Array.from(
      { length: 60 },
      (_, i) => [`secret ${i}`, i % 2 === 0 ? byRule : byChecker] as const,
    );
    arrive(endpoint, [...posts, ["waits", null]]);
    const first = await list();
    expect([first.holds.length, first.hasMore, first.queued]).toEqual([50, true, 1]);
    expect(JSON.stringify(first)).not.toContain("secret");
    expect(first.holds[0]).toEqual({
      holdId: expect.stringMatching(/^hld_[A-Za-z0-9_-]{22}$/) as unknown,
      heldAt: "1970-01-01T00:00:02.000Z",
      reason: "rule",
      rule: 2,
      explanation: "Not him.",
      itemKind: "multicast",
      sender: "agent:bob",
      address: "agent:bob",
      bytes: expect.any(Number) as unknown,
    });
    const rest = await list({ afterHoldId: first.holds.at(-1)?.holdId });
    expect([rest.holds.length, rest.hasMore]).toEqual([10, false]);
    const ids = [...first.holds, ...rest.holds].map(({ holdId }) => holdId);
    expect(new Set(ids).size).toBe(60);
    for (const [i, holdId] of ids.entries()) {
      expect(await result("read_hold", { holdId })).toMatchObject({
        hold: { holdId },
        state: "held",
        item: { kind: "multicast", message: { content: [{ type: "text", text: `secret ${i}` }] } },
      });
    }
    // A hold that has ended is still a place in the list.
    await result("discard_hold", { holdId: ids[9] });
    expect((await list({ afterHoldId: ids[9] })).holds[0]?.holdId).toBe(ids[10]);
    expect((await list()).holds.map(({ holdId }) => holdId)).not.toContain(ids[9]);
    const unknown = { holdId: id("hld_", 16) };
    for (const [name, args] of [
      ["read_hold", unknown],
      ["discard_hold", unknown],
      ["list_holds", { afterHoldId: unknown.holdId }],
    ] as const) {
      expect((await call(name, args)).error?.data).toEqual({ reason: "unknown-hold" });
    }
  },
);

verifies("ING-163", "a discarded hold never reaches the model, and stays what it is", async () => {
  const endpoint = await start({ mode: "credentials", holdTools: "releasable" });
  const { result, list } = calling(endpoint, ownerToken);
  arrive(endpoint, [["secret", byRule]]);
  const holdId = (await list()).holds[0]?.holdId;
  for (const name of ["discard_hold", "discard_hold", "release_hold"]) {
    expect(await result(name, { holdId })).toEqual({ kind: "discarded" });
  }
  expect(await result("read_hold", { holdId })).toMatchObject({
    state: "discarded",
    endedAt: expect.any(String) as unknown,
    item: { message: { content: [{ text: "secret" }] } },
  });
  expect(Inbox.unreadCount(endpoint.store.db)).toBe(0);
  endpoint.store.reopen();
  expect(await list()).toEqual({ holds: [], hasMore: false, queued: 0 });
});

verifies(
  ["ING-164", "ING-165"],
  "a released item is admitted once, behind what came after it, and says so beside it",
  async () => {
    const endpoint = await start({ holdTools: "releasable" });
    const { result, list } = calling(endpoint, ownerToken);
    arrive(endpoint, [
      ["held", byRule],
      ["later", { verdict: "allow", guidance: "Fine." }],
    ]);
    const holdId = (await list()).holds[0]?.holdId;
    for (const name of ["release_hold", "release_hold", "discard_hold"]) {
      expect(await result(name, { holdId })).toEqual({ kind: "released" });
    }
    expect(await result("read_hold", { holdId })).toMatchObject({ state: "released" });
    const local = calling(endpoint, undefined);
    const { items } = (await local.result("read_inbox")) as unknown as {
      readonly items: ReadonlyArray<Record<string, unknown> & { readonly deliveryToken: string }>;
    };
    const text = (said: string) => ({
      kind: "multicast",
      message: expect.objectContaining({ content: [{ type: "text", text: said }] }) as unknown,
    });
    expect(items).toEqual([
      { deliveryToken: expect.any(String) as unknown, item: text("later"), guidance: "Fine." },
      { deliveryToken: expect.any(String) as unknown, item: text("held"), released: true },
    ]);
    for (const { deliveryToken, ...shown } of items) {
      expect(await local.result("read_event", { eventId: deliveryToken.replace("dlv_", "evt_") })).toEqual(
        shown,
      );
    }
    expect(JSON.stringify(items.map(({ item }) => item))).not.toMatch(/released|guidance|Fine/);
    // The official client would refuse a result that does not fit what is advertised.
    const client = await endpoint.client(ownerToken);
    const { tools: listed } = await client.listTools();
    const ajv = new AjvJsonSchemaValidator();
    for (const [name, args] of [
      ["read_inbox", {}],
      ["list_holds", {}],
      ["read_hold", { holdId }],
      ["release_hold", { holdId }],
      ["discard_hold", { holdId }],
    ] as const) {
      const schema = listed.find((tool) => tool.name === name)?.outputSchema;
      const verdict = ajv.getValidator(schema as never)((await result(name, args)) as never);
      expect([name, verdict.errorMessage]).toEqual([name, undefined]);
    }
  },
);

verifies(
  "ING-147",
  "guidance is in a field of its own, and the item's bytes are what they are without it",
  () => {
    const rows = [undefined, "Be careful with him."].map(async (guidance) => {
      const endpoint = await start();
      arrive(endpoint, [["hello", { verdict: "allow", ...(guidance === undefined ? {} : { guidance }) }]]);
      return endpoint.store.db.get("SELECT item, item_bytes, guidance FROM inbox");
    });
    return Promise.all(rows).then(([plain, guided]) => {
      expect(guided).toEqual({ ...plain, guidance: "Be careful with him." });
      expect(plain?.["guidance"]).toBeNull();
    });
  },
);

verifies(
  "ING-148",
  "nothing of what is queued or held is to be had by the runtime, whatever it asks",
  async () => {
    for (const mode of ["credentials", "trusted-local"] as const) {
      const token = mode === "credentials" ? runtimeToken : undefined;
      const endpoint = await start({ mode, holdTools: "releasable" });
      arrive(endpoint, [
        ["canary held", byRule],
        ["canary queued", null],
      ]);
      const { store, port } = endpoint;
      const names = store.db
        .all("SELECT hold_id AS id FROM firewall_hold UNION ALL SELECT record_hash FROM firewall_queue")
        .map((row) => String(row["id"]));
      expect(names).toHaveLength(2);
      const { call } = calling(endpoint, token);
      const seen: Array<unknown> = [(await RawHttp.rpc(port, "tools/list", {}, token)).body];
      // Its own history is whole for whoever may read it; TestEndpoint has none, and the runtime credential has no such tool.
      for (const { face } of everyTool) seen.push(await call(face.name, goodArguments[face.name]));
      for (const holdId of names) {
        for (const name of tools.releasable) seen.push(await call(name, { holdId }));
        for (const prefix of ["dlv_", "evt_"]) {
          const like = prefix + holdId.slice(4);
          seen.push(
            await call("read_event", { eventId: like }),
            await call("acknowledge_delivery", { deliveryToken: like }),
          );
        }
      }
      const text = JSON.stringify(seen);
      for (const hidden of ["canary", ...names]) expect(text).not.toContain(hidden);
      expect([endpoint.operations.pendingCount(), endpoint.operations.listHolds({}).holds.length]).toEqual([
        0, 1,
      ]);
      if (mode === "trusted-local") {
        const stream = await RawHttp.stream(
          port,
          "events/stream",
          { name: "org.social-harness/inbox.pending" },
          1,
          token,
        );
        expect((await stream.next())?.method).toBe("notifications/events/active");
        endpoint.deliver({
          kind: "operationFailed",
          to: "agent:bob" as never,
          error: { reason: "refused", message: "No." },
        });
        expect((await stream.next())?.params?.["data"]).toEqual({ pendingCount: 1 });
        stream.leave();
      }
    }
  },
);
