// Registering and searching through a whole endpoint: the official client in front, a real Registry behind a gate.
// The deadline of thirty seconds is asked for and then brought about, never waited for.

import * as Limits from "@social-harness/protocol/Limits";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished, vi } from "vitest";
import { type Answer, type Newcomer, registration, startNewcomer } from "./Newcomer.ts";
import { type RegistryGate, startRegistryGate } from "./RegistryGate.ts";

interface Scene {
  readonly network: TestNetwork;
  readonly gate: RegistryGate;
  readonly newcomer: (label: string) => Promise<Newcomer>;
}

const scene = async (): Promise<Scene> => {
  const network = await testNetwork();
  const gate = await startRegistryGate(network.registryUrl);
  onTestFinished(gate.close);
  return { network, gate, newcomer: (label) => startNewcomer(network.folder, label, network, gate.url) };
};

/** Takes the Registry's deadlines into the test's hands: they pass when the test says how late it is. */
const heldDeadlines = () => {
  const wait = AbortSignal.timeout;
  let now = 0;
  const deadlines: Array<{ readonly at: number; readonly controller: AbortController }> = [];
  const spy = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    if (ms !== Limits.registryDeadlineMs) return wait.call(AbortSignal, ms);
    const controller = new AbortController();
    deadlines.push({ at: now + ms, controller });
    return controller.signal;
  });
  onTestFinished(() => spy.mockRestore());
  return {
    count: () => deadlines.length,
    advanceTo: (ms: number) => {
      now = ms;
      for (const { at, controller } of deadlines)
        if (at <= now) controller.abort(new DOMException("time is up", "TimeoutError"));
    },
  };
};

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (answer) => ({ unexpected: answer }),
    (error: { code?: number; data?: unknown }) => ({ code: error.code, data: error.data }),
  );

const unavailable = { code: -32_603, data: { reason: "dependency-unavailable" } };

verifies(["MGT-20", "MGT-21"], "register ends in each of its results, and the first one stands", async () => {
  const { gate, newcomer } = await scene();
  const ada = await newcomer("ada");
  const first = registration("ada-agent");

  expect(await ada.call("register", { ...first, admission: "not-a-credential" })).toEqual({
    kind: "admission_refused",
  });
  gate.loseNextAnswer();
  expect(await failureOf(ada.call("register", first))).toEqual(unavailable);
  expect(await ada.call("status")).toEqual({ kind: "unregistered" });

  // The Registry has acted, so its word about anything else is one of the refusals.
  const renamed = { ...first, agentName: "ada-again" };
  expect(await ada.call("register", renamed)).toEqual({ kind: "idempotency_conflict" });
  expect(await ada.call("register", registration("ada-again"))).toEqual({ kind: "key_already_registered" });
  const bob = await newcomer("bob");
  expect(await bob.call("register", registration("ada-agent"))).toEqual({ kind: "name_taken" });

  await ada.restart();
  const registered = await ada.call("register", first);
  expect(registered).toMatchObject({ kind: "registered", agentCard: { agentName: "ada-agent" } });
  expect(await bob.call("register", registration("bob-agent"))).toMatchObject({ kind: "registered" });
  expect(await bob.call("search_agents", { agentName: "ada-agent" })).toEqual({
    kind: "found",
    agentCard: registered["agentCard"],
  });
});

verifies("MGT-22", "C23: a Registry that answers after 29.9 s registers", async () => {
  const { gate, newcomer } = await scene();
  const ada = await newcomer("ada");
  const deadlines = heldDeadlines();
  gate.shut();
  const call = ada.call("register", registration("ada-agent"));
  await gate.untilKnocked();
  deadlines.advanceTo(29_900);
  gate.open();
  expect(await call).toMatchObject({ kind: "registered" });
  // The call's own, and that of the look-up that whoever asks for the same agent shares.
  expect(deadlines.count()).toBe(2);
});

verifies(
  ["MGT-22", "MGT-21"],
  "C23: one that answers after 30.1 s binds nothing, and is asked again exactly",
  async () => {
    const { gate, newcomer } = await scene();
    const ada = await newcomer("ada");
    const asked = registration("ada-agent");
    const deadlines = heldDeadlines();
    gate.holdAnswers();
    const call = failureOf(ada.call("register", asked));
    await gate.untilAnswered();
    deadlines.advanceTo(30_100);
    expect(await call).toEqual(unavailable);
    gate.open();
    expect(await ada.call("status")).toEqual({ kind: "unregistered" });
    expect(await ada.tools()).toEqual(["register", "status"]);
    // What the Registry registered too late is still this agent's, and nobody else's.
    expect(await ada.call("register", { ...asked, agentName: "ada-again" })).toEqual({
      kind: "idempotency_conflict",
    });
    expect(await ada.call("register", asked)).toMatchObject({ kind: "registered" });
  },
);

verifies(
  ["MGT-23", "MGT-24"],
  "C23: a cancelled register goes on, and status tells the exact card as soon as it is bound",
  async () => {
    const { gate, newcomer } = await scene();
    const ada = await newcomer("ada");
    gate.shut();
    const hangUp = new AbortController();
    const call = failureOf(ada.call("register", registration("ada-agent"), hangUp.signal));
    await gate.untilKnocked();
    hangUp.abort();
    await call;
    expect(await ada.call("status")).toEqual({ kind: "unregistered" });
    gate.open();

    let status: Answer = {};
    const isActive = (): boolean => status["kind"] === "active";
    while (!isActive()) status = await ada.call("status");
    let tools: ReadonlyArray<string> = [];
    await until("the catalog is the registered one", () => {
      void ada.tools().then((listed) => (tools = listed));
      return tools.includes("send_message");
    });
    const found = await ada.call("search_agents", { agentName: "ada-agent" });
    expect(status).toEqual({ kind: "active", agentCard: found["agentCard"] });
    await ada.restart();
    expect(await ada.call("status")).toEqual(status);
  },
);

verifies(
  ["MGT-30", "MGT-31"],
  "C23: search_agents finds one, lists in order, and does not wait for a silent Registry for ever",
  async () => {
    const { gate, network, newcomer } = await scene();
    const ada = await newcomer("ada");
    const { agentCard } = await ada.call("register", registration("ada-agent"));
    const others = await network.openAll(["bob-agent", "bob-two", "cyd-agent"]);
    const bob = others[0].card;

    expect(await ada.call("search_agents", { agentId: bob.agentId })).toEqual({
      kind: "found",
      agentCard: bob,
    });
    expect(await ada.call("search_agents", { agentName: "nobody-here" })).toEqual({ kind: "not_found" });
    const page = async (input: object) => {
      const { kind, agentCards, hasMore } = await ada.call("search_agents", input);
      return [
        kind,
        (agentCards as ReadonlyArray<{ agentName: string }>).map((card) => card.agentName),
        hasMore,
      ];
    };
    expect(await page({})).toEqual(["page", ["ada-agent", "bob-agent", "bob-two", "cyd-agent"], false]);
    expect(await page({ prefix: "bob" })).toEqual(["page", ["bob-agent", "bob-two"], false]);
    expect(await page({ afterAgentName: "bob-agent" })).toEqual(["page", ["bob-two", "cyd-agent"], false]);
    expect(await page({ prefix: "bob", afterAgentName: "bob-and" })).toEqual(["page", ["bob-two"], false]);
    expect(await ada.call("status")).toEqual({ kind: "active", agentCard });

    const deadlines = heldDeadlines();
    const search = (inputs: ReadonlyArray<object>) => {
      gate.shut();
      return inputs.map((input) => ada.call("search_agents", input));
    };
    const slow = search([{ agentName: "cyd-agents" }, { prefix: "cyd" }]);
    await until("both are being asked", () => deadlines.count() >= 2);
    await gate.untilKnocked();
    deadlines.advanceTo(29_900);
    gate.open();
    expect(await Promise.all(slow)).toMatchObject([{ kind: "not_found" }, { kind: "page" }]);

    const calls = search([{ agentName: "cyd-agents" }, { prefix: "cyd" }]).map(failureOf);
    await until("both are being asked", () => deadlines.count() >= 4);
    await gate.untilKnocked();
    deadlines.advanceTo(29_900 + 30_100);
    expect(await Promise.all(calls)).toEqual([unavailable, unavailable]);
  },
);
