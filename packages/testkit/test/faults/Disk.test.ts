// What the fault rounds read from a store: votes under the round that they were cast in, also after the Router's log was lost.

import * as Disk from "@social-harness/testkit/faults/Disk";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { expect, test } from "vitest";

test("a vote that one store shows is found in its signer's own, in every round", async () => {
  const network = await testNetwork();
  const [ann, bob] = await network.openAll(["ann", "bob"]);
  await ann.send("agent:bob", "in round 0");
  await network.router.stop();
  network.router.replaceLog(null);
  await network.router.start();
  await ann.send("agent:bob", "in round 1");
  await bob.untilItems(2);
  const disks = [ann, bob].map(({ name }) => Disk.read(name, network.storeOf(name)));
  const spelled = ({ kind, height, round, signature }: Disk.Vote): string =>
    [kind, height, round, signature].join(" ");
  const own = new Set(disks.flatMap(({ ownVotes }) => ownVotes.map(spelled)));
  const shown = disks.flatMap(({ shownVotes }) => shownVotes);
  expect(new Set(shown.map(({ round }) => round))).toEqual(new Set([0, 1]));
  expect(shown.filter((vote) => !own.has(spelled(vote)))).toEqual([]);
});
