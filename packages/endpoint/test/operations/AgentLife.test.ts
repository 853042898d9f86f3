// From unregistered over bound to active, seen through HTTP: what status and the catalog say at each moment, who hears of a
// change, and what a failure in between leaves behind.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as Limits from "@social-harness/protocol/Limits";
import { signerOf } from "@social-harness/protocol/identity/Signing";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import * as Chains from "@social-harness/testkit/Chains";
import { identityOf } from "@social-harness/testkit/network/NetworkAgent";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished, vi } from "vitest";
import { StoreError } from "../../src/store/StoreError.ts";
import * as RawHttp from "../mcp/RawHttp.ts";
import { asking, cardFor, type LifeBench, openBench } from "./LifeBench.ts";

const before = ["register", "status"];

const toolsOf = async ({ endpoint }: LifeBench): Promise<ReadonlyArray<string>> => {
  const { result = {} } = (await RawHttp.rpc(endpoint.port, "tools/list")).body;
  return (result["tools"] as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name);
};

const call = async ({ endpoint }: LifeBench, name: string, args: object = {}) => {
  const { result, error } = (await RawHttp.callTool(endpoint.port, name, args)).body;
  return error === undefined ? result?.["structuredContent"] : { code: error.code, data: error.data };
};

const failure = (reason: string) => ({ code: -32_603, data: { reason } });

const listen = (bench: LifeBench, notifications: object) =>
  RawHttp.stream(bench.endpoint.port, "subscriptions/listen", { notifications });

/** Every frame's method until the endpoint ends the stream, `result` for the final one. */
const heardBy = async (stream: RawHttp.FrameStream): Promise<ReadonlyArray<string>> => {
  const methods: Array<string> = [];
  for (let frame = await stream.next(); frame !== null; frame = await stream.next())
    methods.push(frame.method ?? "result");
  return methods;
};

const acknowledged = "notifications/subscriptions/acknowledged";
const changed = "notifications/tools/list_changed";

verifies(
  ["MGT-24", "MGT-25", "MGT-104"],
  "C20: status shows the exact card while the protocol comes up, register answers and the tools appear after it",
  async () => {
    const bench = await openBench();
    const { activation, registry, requests } = bench;
    const streams = await Promise.all([
      listen(bench, { toolsListChanged: true }),
      listen(bench, { toolsListChanged: true }),
      listen(bench, { promptsListChanged: true }),
    ]);
    const heard = streams.map(heardBy);
    registry.open();
    let answered = false;
    const registering = call(bench, "register", asking("ada-agent")).finally(() => (answered = true));
    await until("the protocol comes up", () => activation.entered() === 1);

    const [request] = requests;
    const agentCard = cardFor(request as (typeof requests)[number]);
    const stored = bench.db.get("SELECT agent_card FROM registration");
    expect(stored?.["agent_card"]).toBe(AgentCard.encode(agentCard));
    for (let i = 0; i < 3; i++) {
      expect(await call(bench, "status")).toEqual({ kind: "active", agentCard });
      expect(await toolsOf(bench)).toEqual(before);
      expect(await call(bench, "search_conversations")).toMatchObject({ code: -32_602 });
    }
    expect(answered).toBe(false);

    activation.open();
    expect(await registering).toEqual({ kind: "registered", agentCard });
    // A host that never listened, or cached what it was told, calls what is there now and meets no stale catalog.
    expect(await call(bench, "search_conversations")).toMatchObject({ kind: "page" });
    expect(await call(bench, "register", asking("ada-agent"))).toMatchObject({ code: -32_602 });
    expect((await toolsOf(bench)).includes("send_message")).toBe(true);
    await bench.endpoint.close();
    expect(await Promise.all(heard)).toEqual([
      [acknowledged, changed, "result"],
      [acknowledged, changed, "result"],
      [acknowledged, "result"],
    ]);
  },
);

verifies(
  ["MGT-23", "MGT-106"],
  "C23: a cancelled register is bound and activated, and its listeners hear of it once",
  async () => {
    const bench = await openBench();
    const { activation, endpoint, registry } = bench;
    const listening = await listen(bench, { toolsListChanged: true });
    expect((await listening.next())?.method).toBe(acknowledged);
    const client = await endpoint.client();
    const hangUp = new AbortController();
    const cancelled = client
      .callTool({ name: "register", arguments: asking("ada-agent") }, { signal: hangUp.signal })
      .then(
        () => "answered",
        () => "cancelled",
      );
    await until("the Registry is being asked", () => registry.entered() === 1);
    hangUp.abort();
    expect(await cancelled).toBe("cancelled");
    expect(await call(bench, "status")).toEqual({ kind: "unregistered" });

    registry.open();
    await until("the protocol comes up", () => activation.entered() === 1);
    expect(await call(bench, "status")).toMatchObject({ kind: "active" });
    activation.open();
    expect((await listening.next())?.method).toBe(changed);
    expect((await toolsOf(bench)).includes("send_message")).toBe(true);
    await endpoint.close();
    expect(await heardBy(listening)).toEqual(["result"]);
  },
);

verifies("MGT-25", "a registration that is refused changes no catalog and tells nobody", async () => {
  for (const kind of ["name_taken", "key_already_registered", "admission_refused"] as const) {
    const bench = await openBench({ answer: { kind } });
    bench.registry.open();
    const heard = heardBy(await listen(bench, { toolsListChanged: true }));
    expect(await call(bench, "register", asking("ada-agent"))).toEqual({ kind });
    expect(await call(bench, "status")).toEqual({ kind: "unregistered" });
    expect(await toolsOf(bench)).toEqual(before);
    await bench.endpoint.close();
    expect(await heard).toEqual([acknowledged, "result"]);
  }
});

verifies(
  "MGT-105",
  "an activation that fails leaves the agent bound; the same call, or the next start, tries again",
  async () => {
    const bench = await openBench();
    const { activation, registry, requests } = bench;
    registry.open();
    const failed = async (error: Error, attempt: number) => {
      const answer = call(bench, "register", asking("ada-agent"));
      await until("the protocol comes up", () => activation.entered() === attempt);
      activation.fail(error);
      return answer;
    };
    const storeError = new StoreError("unavailable", "the disk is full", "make room");
    expect(await failed(storeError, 1)).toEqual(failure("persistence-failed"));
    const status = await call(bench, "status");
    expect(status).toMatchObject({ kind: "active", agentCard: { agentName: "ada-agent" } });
    expect(await toolsOf(bench)).toEqual(before);
    expect(await failed(new TypeError("a defect"), 2)).toEqual(failure("internal"));
    expect(await call(bench, "status")).toEqual(status);

    const restarted = await openBench({ db: bench.db });
    const resumed = restarted.life.resume();
    await until("the next start brings it up", () => restarted.activation.entered() === 1);
    restarted.activation.open();
    await resumed;
    expect(await call(restarted, "status")).toEqual(status);
    expect((await toolsOf(restarted)).includes("send_message")).toBe(true);

    activation.open();
    expect(await call(bench, "register", asking("ada-agent"))).toEqual({
      ...(status as object),
      kind: "registered",
    });
    expect((await toolsOf(bench)).includes("send_message")).toBe(true);
    expect(requests).toHaveLength(1);
  },
);

verifies(
  "MGT-102",
  "what is bound stays: calls that waited for it get its card, a conflict, or that the key is registered",
  async () => {
    const bench = await openBench();
    const { activation, registry, requests } = bench;
    activation.open();
    const other = { ...asking("ada-agent"), principalId: `prn_${Buffer.alloc(16, 9).toString("base64url")}` };
    // All of them are under way before the first is answered: none meets the catalog of a registered agent.
    const calls = [
      asking("ada-agent"),
      asking("ada-agent"),
      asking("eve-agent"),
      other,
      asking("eve-agent", "second"),
      asking("ada-agent", "second"),
    ].map((input) => bench.life.register(input as never));
    await until("the Registry is being asked", () => registry.entered() === 1);
    registry.open();
    const [first, ...rest] = await Promise.all(calls);
    expect(first).toMatchObject({ kind: "registered", agentCard: { agentName: "ada-agent" } });
    expect(rest).toEqual([
      first,
      { kind: "idempotency_conflict" },
      { kind: "idempotency_conflict" },
      { kind: "key_already_registered" },
      { kind: "key_already_registered" },
    ]);
    expect(requests).toHaveLength(1);
    expect(await call(bench, "status")).toEqual({ ...first, kind: "active" });
  },
);

verifies(
  "MGT-119",
  "a registration brings the call's own admission or the configured one, and the configured Registry's key",
  async () => {
    const configured = `adm_${Buffer.alloc(32, 1).toString("base64url")}` as never;
    const own = `adm_${Buffer.alloc(32, 2).toString("base64url")}`;
    for (const [admission, sent] of [
      [undefined, configured],
      [own, own],
    ]) {
      const bench = await openBench({ answer: { kind: "name_taken" }, more: { admission: configured } });
      bench.registry.open();
      const asked = { ...asking("ada-agent"), ...(admission === undefined ? {} : { admission }) };
      expect(await call(bench, "register", asked)).toEqual({ kind: "name_taken" });
      expect(bench.credentials).toEqual([sent]);
      expect(bench.requests[0]).toMatchObject({
        ...asking("ada-agent"),
        registryKey: Chains.registry.publicKey,
      });
    }
    const bench = await openBench({ more: { admission: configured } });
    const malformed = { ...asking("ada-agent"), admission: "not-a-credential" };
    expect(await call(bench, "register", malformed)).toEqual({ kind: "admission_refused" });
    expect(bench.requests).toEqual([]);
  },
);

verifies("MGT-101", "the thirty seconds include signing: a slow signer takes them all", async () => {
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.end();
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  onTestFinished(() => void server.close());
  const timeUp = new AbortController();
  const spy = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    expect(ms).toBe(Limits.registryDeadlineMs);
    return timeUp.signal;
  });
  onTestFinished(() => spy.mockRestore());
  const identity = identityOf("ada-agent");
  const registry = makeRegistryClient({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    registryKey: Chains.registry.publicKey,
  });
  onTestFinished(registry.close);
  const signer = signerOf(identity.signer.publicKey, (artifact, jcs) => {
    if (spy.mock.calls.length > 0) timeUp.abort(new DOMException("time is up", "TimeoutError"));
    return identity.signer.signText(artifact, jcs);
  });
  const bench = await openBench({
    more: { registry: { ...registry, lookupById: async () => null }, identity: { ...identity, signer } },
  });
  expect(await call(bench, "register", asking("ada-agent"))).toEqual(failure("dependency-unavailable"));
  expect(await call(bench, "status")).toEqual({ kind: "unregistered" });
  expect([spy.mock.calls.length, asked]).toEqual([1, 0]);
});
