// Catch-up pages across rounds: records with the anchors that they name, and the anchor that stands now.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { PacketOf } from "@social-harness/protocol/conversation/Packet";
import { byHand, hand, scenario, type Scenario } from "./Scenario.ts";
import { reanchorOf, roundOf, saidBy, statementOf } from "./RoundStories.ts";

const pageOf = (story: Scenario, items: PacketOf<"catch_up_page">["items"]): PacketOf<"catch_up_page"> => ({
  kind: "catch_up_page",
  conversationId: story.world.members.conversationId,
  afterRecordHash: null,
  items,
  hasMore: false,
});

describe("a catch-up page", () => {
  verifies("HIS-87", "ends with the anchor under which the answering member stands, which is taken", () => {
    const story = scenario(4);
    story.world.loses = (_, __, to) => to.id === story.at("D").id;
    story.say("A", "one");
    story.run(1_000);
    for (const name of ["A", "B", "C"]) story.world.feed(story.at(name).index, { kind: "wish-round" });
    story.run(0);
    story.world.loses = () => false;
    expect(["A", "B", "C", "D"].map((name) => roundOf(story.at(name)))).toEqual([1, 1, 1, 0]);
    const { conversationId } = story.world.members;
    const { head, anchor } = story.at("D").disk.state;
    hand(story, "A", "D", {
      kind: "catch_up_request",
      conversationId,
      knownRecordHash: head?.recordHash ?? null,
      knownAnchorHash: anchor?.anchorHash ?? null,
    });
    const [page] = saidBy(story, "A") as [PacketOf<"catch_up_page">];
    expect(page.items.map(({ kind }) => kind)).toEqual(["certified_record", "completed_reanchor"]);
    story.world.feed(3, { kind: "gap" });
    hand(story, "D", "A", page, null);
    expect(story.chain("D")).toEqual(["A: one"]);
    expect(roundOf(story.at("D"))).toBe(0);
    hand(story, "D", "C", { ...page, items: page.items.slice(1) }, null);
    expect(roundOf(story.at("D"))).toBe(1);
  });

  verifies("HIS-87", "brings each record with the anchors that it names", () => {
    const story = scenario(4);
    story.world.loses = (_, __, to) => to.id === story.at("D").id;
    for (let round = 1; round <= 3; round++) {
      for (const name of ["A", "B", "C"]) story.world.feed(story.at(name).index, { kind: "wish-round" });
      story.say("A", `in ${round}`);
      story.run(30_000);
    }
    story.world.loses = () => false;
    story.world.feed(3, { kind: "gap" });
    story.run(60_000);
    expect(story.chain("D")).toEqual(["A: in 1", "A: in 2", "A: in 3"]);
    expect(story.at("D").disk.records).toEqual(story.at("A").disk.records);
    expect(roundOf(story.at("D"))).toBe(roundOf(story.at("A")));
  });

  verifies(["HIS-87", "HIS-45"], "with an anchor that does not verify changes nothing", () => {
    const story = byHand(4);
    story.world.feed(0, { kind: "gap" });
    const before = story.at("A").disk.state;
    const few = reanchorOf(story, [statementOf(story, "B", 1), statementOf(story, "C", 1)]);
    hand(story, "A", "D", pageOf(story, [few]), null);
    expect(story.at("A").disk.state).toEqual(before);
  });

  verifies(
    ["HIS-87", "HIS-74"],
    "is believed about an anchor from its leader, or from f + 1 members alike",
    () => {
      const asked = (n: number): { story: Scenario; page: PacketOf<"catch_up_page"> } => {
        const story = byHand(n);
        const statements = story.world.all.map(({ id }) => statementOf(story, story.name(id), 1));
        story.world.feed(0, { kind: "gap" });
        return { story, page: pageOf(story, [reanchorOf(story, statements)]) };
      };
      for (const n of [2, 4, 7]) {
        const { story, page } = asked(n);
        hand(story, "A", "B", page, null);
        expect(roundOf(story.at("A"))).toBe(1);
      }
      for (const [n, witnesses] of [
        [3, ["C"]],
        [4, ["C", "D"]],
        [7, ["C", "D", "E"]],
      ] as const) {
        const { story, page } = asked(n);
        for (const name of witnesses) {
          expect(roundOf(story.at("A"))).toBe(0);
          hand(story, "A", name, page, null);
          hand(story, "A", witnesses[0], page, null);
        }
        expect(roundOf(story.at("A"))).toBe(1);
      }
    },
  );
});
