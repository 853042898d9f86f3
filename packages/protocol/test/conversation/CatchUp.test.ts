// Catch-up pages and record requests: believed whole or not at all, and answered to members alone.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { certifiedBy, genesisAnchorOf, intentOf, postIdOf } from "@social-harness/testkit/simulation/Certify";
import type { Packet, PacketOf } from "@social-harness/protocol/conversation/Packet";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Record from "@social-harness/protocol/history/Record";
import type { RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import {
  claim,
  hand,
  hearing,
  missed,
  proposalOf,
  scenario,
  type Scenario,
  strangeRecordHash,
} from "./Scenario.ts";

const pageOf = (
  story: Scenario,
  records: ReadonlyArray<HistoryRecord>,
  hasMore = false,
): PacketOf<"catch_up_page"> => ({
  kind: "catch_up_page",
  conversationId: story.world.members.conversationId,
  afterRecordHash: null,
  items: records.map(({ recordHash: _, ...rest }) => ({ kind: "certified_record", ...rest })),
  hasMore,
});

describe("a catch-up page", () => {
  verifies("HIS-45", "with one bad record changes nothing", () => {
    const story = missed(3);
    hand(story, "D", "B", claim(story, 3), null);
    const [, first, second, third] = story.at("A").disk.records as [
      HistoryRecord,
      HistoryRecord,
      HistoryRecord,
      HistoryRecord,
    ];
    const state = story.at("D").disk.state;
    const forged = certifiedBy(
      [story.at("B")],
      Record.postCore(intentOf(story.world, story.at("B").id, postIdOf("forged"), "forged"), {
        height: 2,
        previousRecordHash: first.recordHash,
        anchorHash: first.recordCore.anchorHash,
      }),
      genesisAnchorOf(story.world),
    );
    const bad: ReadonlyArray<ReadonlyArray<HistoryRecord>> = [
      [first, forged],
      [first, third],
      [second],
      [second, first],
      [first, first],
      [first, second, { ...third, durabilityVotes: third.durabilityVotes.slice(1) }],
      [first, second, { ...third, actionSignatures: third.durabilityVotes }],
    ];
    for (const records of bad) {
      hand(story, "D", "B", pageOf(story, records), null);
      expect(story.at("D").disk.records).toHaveLength(1);
      expect(story.at("D").disk.state).toEqual(state);
    }
    hand(story, "D", "B", pageOf(story, [first, second, third]), null);
    expect(story.chain("D")).toEqual(["A: 1", "A: 2", "A: 3"]);
  });

  verifies(
    "HIS-45",
    "is followed by page after page of who has more, each within the bound of a packet",
    () => {
      const story = scenario(4);
      story.world.loses = (_, __, to) => to.id === story.at("D").id;
      const long = "x".repeat(150_000);
      for (let i = 1; i <= 5; i++) story.say("A", `${i} ${long}`);
      story.run(30_000);
      hearing(story);
      story.sent();
      const bytes: Array<number> = [];
      story.world.onAccepted.push(({ packets }) => {
        for (const packet of packets)
          if (packet.kind === "catch_up_page" && packet.items.length > 0)
            bytes.push(CanonicalJson.byteLength(packet as CanonicalJson.Json));
      });
      story.say("B", "short");
      story.run(0);
      const pages = story.sent().filter((line) => line.endsWith("-> D: catch_up_page"));
      expect(pages.length).toBeGreaterThan(2);
      expect(new Set(pages)).toEqual(new Set(["B -> D: catch_up_page"]));
      expect(story.chain("D")).toEqual(story.chain("A"));
      expect(story.chain("D")).toHaveLength(6);
      expect(Math.max(...bytes)).toBeLessThan(Limits.packetBytesMax);
      expect(Math.max(...bytes)).toBeGreaterThan(300_000);
    },
  );

  verifies("HIS-45", "that was not needed is passed over", () => {
    const story = missed(2);
    hand(story, "D", "B", pageOf(story, story.at("A").disk.records), null);
    expect(story.chain("D")).toEqual([]);
    hand(story, "D", "B", claim(story, 2), null);
    hand(story, "D", "B", pageOf(story, story.at("A").disk.records), null);
    expect(story.chain("D")).toEqual(["A: 1", "A: 2"]);
    const { disk } = story.at("D");
    hand(story, "D", "B", pageOf(story, story.at("A").disk.records), null);
    expect(story.at("D").disk.state).toEqual(disk.state);
  });

  verifies(
    "HIS-46",
    "answers a member, with what it lacks, and a record request with what was staged or certified",
    () => {
      const story = missed(2);
      const { conversationId } = story.world.members;
      const [genesis, first, second] = story.at("A").disk.records as [
        HistoryRecord,
        HistoryRecord,
        HistoryRecord,
      ];
      const answersTo = (packet: Packet): ReadonlyArray<Packet> => {
        story.at("A").disk = { ...story.at("A").disk, outbox: [] };
        hand(story, "A", "B", packet, null);
        return story
          .at("A")
          .disk.outbox.flatMap(({ to, packets }) => (to === story.at("B").id ? packets : []));
      };
      const heightsIn = ([page]: ReadonlyArray<Packet>): ReadonlyArray<number> =>
        (page as PacketOf<"catch_up_page">).items.map((item) =>
          item.kind === "certified_record" ? item.recordCore.action.height : -1,
        );
      const request = { kind: "catch_up_request" as const, conversationId, knownAnchorHash: null };
      expect(heightsIn(answersTo({ ...request, knownRecordHash: null }))).toEqual([0, 1, 2]);
      expect(heightsIn(answersTo({ ...request, knownRecordHash: genesis.recordHash }))).toEqual([1, 2]);
      expect(heightsIn(answersTo({ ...request, knownRecordHash: second.recordHash }))).toEqual([]);
      expect(heightsIn(answersTo({ ...request, knownRecordHash: strangeRecordHash }))).toEqual([]);
      const ask = (recordHash: RecordHash): ReadonlyArray<Packet> =>
        answersTo({ kind: "record_request", conversationId, recordHash });
      expect(ask(first.recordHash)).toEqual([
        {
          kind: "record_response",
          recordCore: first.recordCore,
          routerAnchor: first.routerAnchor,
          actionSignatures: first.actionSignatures,
        },
      ]);
      expect(ask(strangeRecordHash)).toEqual([]);
      // Proposed is not staged.
      const packet = proposalOf(story, "C", "open");
      hand(story, "A", "C", packet);
      expect(ask(Record.recordHashOf(packet.recordCore))).toEqual([]);
      story.world.feed(0, {
        kind: "packet",
        from: strangeRecordHash as never,
        laneSequence: null,
        packet: { ...request, knownRecordHash: null },
      });
      expect(story.notes()).toContain("A: a packet came from an agent that is not a member");
    },
  );
});
