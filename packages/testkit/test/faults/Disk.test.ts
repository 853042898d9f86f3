// What the fault rounds read from a store: votes under the round that they were cast in, also after the Router's log was lost.

import type { State } from "@social-harness/protocol/conversation/State";
import type {
  AgentId,
  AnchorHash,
  Ed25519Signature,
  RecordHash,
} from "@social-harness/protocol/identity/Identifier";
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

test("the votes of a record that a round carries are those of the round in which it was proposed", () => {
  const carried = {
    ...({} as State["open"][number]),
    height: 7,
    recordHash: "rch_carried" as RecordHash,
    anchorHash: "anc_three" as AnchorHash,
    action: { ["agt_ann" as AgentId]: "signed" as Ed25519Signature },
    durability: {},
  };
  const state = { open: [carried], behind: null, anchor: { round: 4 } as State["anchor"] };
  const rounds = new Map([["anc_three", 3]]);
  const votes = Disk.votesOfState("cnv_x", state, (anchorHash) => rounds.get(anchorHash));
  expect(votes).toMatchObject([{ kind: "action", signer: "agt_ann", height: 7, round: 3 }]);
});
