import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Inbox from "../../src/ingress/Inbox.ts";
import * as Compilations from "./Compilations.ts";

const compilations = Compilations.watch();

const readAndAcknowledge = async ({ agent, untilItems }: NetworkAgent): Promise<void> => {
  await untilItems(1);
  await agent.turns.run((turn) => {
    for (const { deliveryToken } of Inbox.page(turn.db).items)
      Inbox.acknowledge(turn.db, deliveryToken, turn.now);
  });
};

const postRound = async (network: Awaited<ReturnType<typeof open>>, round: number): Promise<void> => {
  const { ann, bob, cat } = network;
  await ann.send("agent:bob", `${round}`);
  await readAndAcknowledge(bob);
  await bob.send("agent:ann", `${round} too`);
  await readAndAcknowledge(ann);
  await cat.send("group:ann,bob,cat", `${round} for all`);
  await Promise.all([ann, bob].map(readAndAcknowledge));
  await ann.history("agent:bob");
};

const open = async (network: TestNetwork) => {
  const [ann, bob, cat] = await network.openAll(["ann", "bob", "cat"]);
  return { ann, bob, cat };
};

verifies("RUN-354", "no statement of a post, a page or an acknowledgment is prepared anew", async () => {
  const agents = await open(await testNetwork());
  await postRound(agents, 0);
  await postRound(agents, 1);
  compilations.take();
  for (let round = 2; round < 8; round++) await postRound(agents, round);
  expect(compilations.take()).toEqual([]);
});

verifies("RUN-354", "a statement that is prepared anew is noticed", () => {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE one (a TEXT, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID");
  const limited = database.prepare("SELECT b FROM one WHERE a = ? ORDER BY b LIMIT ?");
  const hidden = database.prepare("SELECT b FROM one WHERE a = CAST(? AS TEXT) ORDER BY b LIMIT ? + 0");
  const runs = (statement: ReturnType<DatabaseSync["prepare"]>) => {
    for (const limit of [1, 2, 3]) statement.all("x", limit);
    return compilations.take().length;
  };
  expect([runs(limited), runs(hidden)]).toEqual([1, 0]);
  database.close();
});
