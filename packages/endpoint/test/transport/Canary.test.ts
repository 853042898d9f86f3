// A question that goes the whole way: it comes back where the way is whole, says where it is not, and leaves conversations,
// votes, items and posts as they were, here and at whoever is asked.

import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";

const [annName, bobName, cydName] = ["ann", "bob", "cyd"] as unknown as [AgentName, AgentName, AgentName];

const tables = [
  "conversation",
  "record",
  "candidate",
  "anchor",
  "own_vote",
  "intent",
  "pending",
  "inbox",
  "card",
];

/** All that a conversation is made of, and what a host may see of it. */
const tracesOf = (agents: ReadonlyArray<NetworkAgent>): ReadonlyArray<string> =>
  agents.map(({ db }) => tables.map((table) => JSON.stringify(db.all(`SELECT * FROM ${table}`))).join("\n"));

const isLevel = ({ db }: NetworkAgent): boolean => db.get("SELECT 1 FROM outbox") === undefined;

verifies(
  ["RUN-190", "RUN-191"],
  "to itself and to a member of a direct conversation or a group: both come back, and nobody's rows have changed",
  async () => {
    const network = await testNetwork();
    const agents = await network.openAll(["ann", "bob", "cyd"]);
    const [ann, bob] = agents;
    await until("all are connected", () => agents.every(({ agent }) => agent.link.mayEnqueue()));
    expect(await ann.agent.probe(null)).toMatchObject({ kind: "returned" });
    expect(ann.db.get("SELECT 1 FROM conversation")).toBeUndefined();
    expect(await ann.agent.probe(bobName)).toEqual({ kind: "no-conversation" });
    await ann.send("agent:bob", "one");
    await bob.send("group:ann,bob,cyd", "two");
    await until("all is certified everywhere", () =>
      agents.every((agent) => isLevel(agent) && agent.db.get("SELECT 1 FROM candidate") === undefined),
    );
    const records = ({ db }: NetworkAgent) => Number(db.get("SELECT count(*) AS n FROM record")?.["n"]);
    await until("all hold what they are members of", () => agents.map(records).join() === "2,2,1");
    const before = tracesOf(agents);
    for (const name of [null, annName, bobName, cydName]) {
      const trip = await ann.agent.probe(name);
      expect(trip, String(name)).toMatchObject({ kind: "returned" });
    }
    // What is asked at once does not take each other's answers.
    const trips = await Promise.all([ann.agent.probe(null), bob.agent.probe(annName), ann.agent.probe(null)]);
    expect(trips.map(({ kind }) => kind)).toEqual(["returned", "returned", "returned"]);
    expect(tracesOf(agents)).toEqual(before);
    await until("nothing is on its way", () => agents.every(isLevel));
    const passedOver = agents.flatMap(({ lines }) =>
      lines.filter(({ event }) => event.includes("passed over")),
    );
    expect(passedOver).toEqual([]);
    expect(await network.judge(["ann", "bob", "cyd"])).toMatchObject({ problems: [] });
  },
);

verifies(
  "RUN-190",
  "a member that is away is silent, and without a Router nothing leaves",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.close();
    expect(await ann.agent.probe(bobName)).toEqual({ kind: "silent" });
    await network.router.stop();
    await until("ann has noticed", () => !ann.agent.link.connected());
    expect(await ann.agent.probe(null)).toEqual({ kind: "not-connected" });
    expect(ann.lines.filter(({ level }) => level === "error")).toEqual([]);
    await network.router.start();
    await until("ann is back", () => ann.agent.link.mayEnqueue());
    expect(await ann.agent.probe(null)).toMatchObject({ kind: "returned" });
  },
  60_000,
);
