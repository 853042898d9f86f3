// Groups in good weather: what a post costs, who signs what, and that nobody is ever asked twice.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { calm } from "@social-harness/testkit/simulation/Calm";
import { createRandom } from "@social-harness/testkit/simulation/Random";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import { quorumOf } from "@social-harness/protocol/history/Quorum";
import { hand, proposalOf, scenario } from "./Scenario.ts";

describe("a group post", () => {
  for (const n of [3, 4, 10, 32]) {
    verifies(["HIS-32", "HIS-29"], `to ${n} takes three multicasts and 2(n-1) unicasts`, () => {
      const story = scenario(n, false);
      story.say("A", "hello");
      story.run();
      story.sent();
      story.say("B", "hi");
      story.run();
      const sent = story.sent();
      expect(sent.filter((line) => line.includes("=> all"))).toEqual([
        "B => all: proposal_packet",
        "B => all: action_certificate",
        "B => all: certified_notice",
      ]);
      const unicasts = sent.filter((line) => !line.includes("=> all"));
      expect(unicasts).toHaveLength(2 * (n - 1));
      expect(new Set(unicasts.map((line) => line.slice(2)))).toEqual(new Set(["-> B: vote_packet"]));
      expect(story.chains()).toEqual(Array.from({ length: n }, () => ["A: hello", "B: hi"]));
      expect(story.world.nextWake()).toBeNull();
    });
  }

  verifies("HIS-33", "is certified by all for GENESIS, by a quorum with its author above", () => {
    const story = scenario(4, false);
    story.say("A", "hello");
    story.run();
    story.world.crash(3);
    story.say("B", "hi");
    story.run();
    const [genesis, post] = story.at("A").disk.records;
    const name = ({ signerAgentId }: { signerAgentId: never }): string => story.name(signerAgentId);
    expect(genesis?.actionSignatures.map(name as never)).toEqual(["A", "B", "C", "D"]);
    expect(post?.actionSignatures.map(name as never)).toEqual(["A", "B", "C"]);
    expect(post?.durabilityVotes).toHaveLength(quorumOf(4));
  });

  verifies("HIS-33", "that opens a conversation waits for the last member", () => {
    const story = scenario(4, false);
    story.world.crash(3);
    const postId = story.say("A", "hello");
    story.run(3_600_000);
    expect(story.outcome("A", postId)).toBeNull();
    expect(story.chains()).toEqual([[], [], [], []]);
    story.world.restart(3);
    story.run(600_000);
    expect(story.chains()).toEqual(Array.from({ length: 4 }, () => ["A: hello"]));
  });

  verifies("HIS-28", "is proposed without a vote, and one that carries a vote is refused", () => {
    const story = scenario(3);
    story.say("A", "hello");
    const [envelope] = story.at("A").disk.outbox;
    expect(envelope?.packets).toEqual([expect.not.objectContaining({ actionVote: expect.anything() })]);
    const packet = proposalOf(story, "A", "with a vote");
    const actionVote = { signerAgentId: story.at("A").id, signature: packet.authorSignature };
    hand(story, "B", "A", { ...packet, actionVote });
    expect(story.at("B").disk.state.open).toEqual([]);
  });
});

describe("the steps of a member", () => {
  verifies(
    ["HIS-22", "HIS-29", "HIS-30", "HIS-31"],
    "lock, vote, stage, commit: each with its packet and never ahead of it",
    () => {
      const story = scenario(4);
      const { world } = story;
      const author = story.at("A");
      const peer = story.at("B");
      story.say("A", "hello");
      const recordHash = author.disk.state.proposal?.recordHash;
      expect(author.disk.state.slot).toMatchObject({ lock: null, actionVote: null });
      world.flush(0);
      world.deliverLane(1);
      expect(peer.disk.state.slot).toMatchObject({
        lock: recordHash,
        actionVote: recordHash,
        durabilityVote: null,
      });
      expect(peer.disk.outbox).toEqual([
        { to: author.id, packets: [expect.objectContaining({ kind: "vote_packet" })] },
      ]);
      world.flush(1);
      world.deliverFromBag(0, 0);
      // Two of three: the author's own vote waits for its own lock.
      world.deliverLane(2);
      world.flush(2);
      world.deliverFromBag(0, 0);
      expect(author.disk.state.slot).toMatchObject({ lock: null, durabilityVote: null });
      world.deliverLane(0);
      expect(author.disk.state.slot).toMatchObject({
        lock: recordHash,
        actionVote: recordHash,
        durabilityVote: recordHash,
      });
      expect(author.disk.outbox).toEqual([
        { to: "lane", packets: [expect.objectContaining({ kind: "action_certificate" })] },
      ]);
      expect(author.disk.records).toHaveLength(1);
      world.flush(0);
      world.deliverLane(1);
      expect(peer.disk.state.slot.durabilityVote).toBe(recordHash);
      expect(peer.disk.cores.has(recordHash as never)).toBe(true);
      world.deliverLane(2);
      world.flush(1);
      world.flush(2);
      world.deliverFromBag(0, 0);
      expect(author.disk.records).toHaveLength(1);
      world.deliverFromBag(0, 0);
      expect(author.disk.records).toHaveLength(2);
      world.flush(0);
      expect(peer.disk.records).toHaveLength(1);
      world.deliverLane(1);
      expect(peer.disk.records).toHaveLength(2);
      expect(peer.disk.cores.size).toBe(0);
      expect(peer.disk.pending).toEqual([recordHash]);
      expect(author.disk.pending).toEqual([]);
      // The last one holds the core: it signs nothing for the notice.
      const signed = story.at("D").disk.ownVotes.length;
      world.deliverLane(3);
      world.deliverLane(3);
      world.deliverLane(3);
      expect(story.at("D").disk.records).toHaveLength(2);
      expect(story.at("D").disk.ownVotes.length - signed).toBe(2);
    },
  );

  verifies("HIS-30", "a member that had locked another record stages the certified one all the same", () => {
    const story = scenario(4);
    const { world } = story;
    hand(story, "D", "B", proposalOf(story, "B", "only D saw this"), 1);
    expect(story.at("D").disk.state.slot.lock).not.toBeNull();
    story.say("A", "hello");
    for (const index of [0, 1, 2, 3]) {
      world.flush(index);
      world.deliverLane(index);
    }
    for (const index of [1, 2]) world.flush(index);
    while (world.deliverFromBag(0, 0));
    world.flush(0);
    while (world.deliverLane(3));
    const { slot } = story.at("D").disk.state;
    expect(slot.durabilityVote).toBe(story.at("A").disk.state.slot.durabilityVote);
    expect(slot.actionVote).not.toBe(slot.durabilityVote);
    story.run(60_000);
    expect(story.chains()).toEqual(Array.from({ length: 4 }, () => ["A: hello"]));
  });

  verifies("HIS-30", "a member answers whoever shows it the certificate, be it the author or not", () => {
    const story = scenario(4);
    const { world } = story;
    story.say("A", "hello");
    for (const index of [0, 1, 2]) while (world.flush(index) || world.deliverLane(index));
    while (world.deliverFromBag(0, 0));
    world.deliverLane(3);
    world.flush(3);
    const [certificate] = story.at("A").disk.outbox[0]?.packets ?? [];
    expect(certificate?.kind).toBe("action_certificate");
    hand(story, "D", "B", certificate as Packet);
    expect(story.at("D").disk.outbox).toEqual([
      { to: story.at("B").id, packets: [expect.objectContaining({ kind: "vote_packet" })] },
    ]);
    // Again to C, the same vote, without another signature.
    hand(story, "D", "C", certificate as Packet);
    expect(story.at("D").disk.outbox.map(({ to }) => to)).toEqual([story.at("B").id, story.at("C").id]);
    expect(story.at("D").disk.ownVotes.filter(({ vote }) => vote === "durability")).toHaveLength(1);
  });
});

describe("a busy group", () => {
  for (const n of [2, 3, 5]) {
    verifies(
      ["HIS-82", "HIS-41", "HIS-84"],
      `of ${n} in good weather: every author in its order, no silence, nobody behind`,
      () => {
        for (let seed = 0; seed < 6; seed++) {
          const story = scenario(n, seed % 2 === 0);
          const said = story.world.all.flatMap(({ id }) => [1, 2, 3].map((i) => `${story.name(id)}: ${i}`));
          for (const i of ["1", "2", "3"]) for (const { id } of story.world.all) story.say(story.name(id), i);
          expect(calm(story.world, { horizonMs: 60_000, random: createRandom(seed) })).toBe(true);
          const [chain, ...others] = story.chains();
          for (const other of others) expect(other).toEqual(chain);
          expect([...(chain ?? [])].sort()).toEqual(said);
          for (const { id } of story.world.all) {
            const own = (chain ?? []).filter((line) => line.startsWith(story.name(id)));
            expect(own).toEqual([...own].sort());
          }
          const sent = story.sent();
          expect(sent.filter((line) => line.endsWith("=> all: vote_packet"))).toEqual([]);
          const kinds = new Set(sent.flatMap((line) => line.split(": ")[1]?.split(", ")));
          expect(
            [...kinds].filter((kind) => kind?.startsWith("catch_up") || kind?.startsWith("record_")),
          ).toEqual([]);
          expect(story.notes()).toEqual([]);
        }
      },
    );
  }
});
