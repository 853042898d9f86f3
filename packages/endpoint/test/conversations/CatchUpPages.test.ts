// Catch-up pages as the store's rows fill them: within one plaintext, and never empty while records are left.

import { expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { initial } from "@social-harness/protocol/conversation/State";
import { transition } from "@social-harness/protocol/conversation/Transition";
import * as Limits from "@social-harness/protocol/Limits";
import * as Chains from "@social-harness/testkit/Chains";
import { verifies } from "@social-harness/testkit/Verifies";
import { create, readsOf } from "../../src/conversations/ConversationRows.ts";
import * as RecordRows from "../../src/store/RecordRows.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

verifies(
  "HIS-14",
  "a catch-up page of the largest posts stays within a plaintext and holds one at least",
  () => {
    const text = "x".repeat(262_117);
    const { actors, members, records } = Chains.chain(
      ["ann-agent", "bob-agent"],
      [
        { author: "ann-agent", text: "opening" },
        { author: "bob-agent", text },
        { author: "ann-agent", text },
        { author: "bob-agent", text: "short" },
      ],
    );
    const [ann, bob] = actors;
    if (ann === undefined || bob === undefined) throw new Error("a chain of two has two members");
    const db = temporaryStore();
    db.transaction(() => {
      create(db, members, ann.card.agentId);
      for (const record of records) RecordRows.insert(db, record);
    });
    const reads = readsOf(db, members.conversationId);
    let known: (typeof records)[number]["recordHash"] | null = null;
    const heights: Array<number> = [];
    for (let pages = 0; pages < records.length; pages++) {
      const { commands } = transition(
        initial,
        {
          kind: "packet",
          from: bob.card.agentId,
          laneSequence: null,
          packet: {
            kind: "catch_up_request",
            conversationId: members.conversationId,
            knownRecordHash: known,
            knownAnchorHash: null,
          },
        },
        {
          now: 0,
          self: ann.card.agentId,
          members,
          signer: ann.signer,
          trust: Chains.trust,
          routerInstanceId: null,
          folded: false,
          admits: () => true,
          reads,
        },
      );
      const answer = commands.find(({ kind }) => kind === "unicast");
      if (answer?.kind !== "unicast" || answer.packet.kind !== "catch_up_page")
        throw new Error("no page came");
      const { items, hasMore } = answer.packet;
      expect(CanonicalJson.byteLength(answer.packet as CanonicalJson.Json)).toBeLessThanOrEqual(
        Limits.packetBytesMax,
      );
      expect(items.length).toBeGreaterThan(0);
      for (const item of items) {
        if (item.kind === "certified_record") heights.push(item.recordCore.action.height);
      }
      known = records[heights.length - 1]?.recordHash ?? null;
      if (!hasMore) break;
    }
    expect(heights).toEqual([0, 1, 2, 3]);
  },
);
