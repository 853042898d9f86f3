// What one plaintext may hold: packets packed for an envelope, and records packed for a catch-up page.

import * as fc from "fast-check";
import { expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import { initial } from "@social-harness/protocol/conversation/State";
import { transition } from "@social-harness/protocol/conversation/Transition";
import type { AgentId, ConversationId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import * as Chains from "@social-harness/testkit/Chains";
import { verifies } from "@social-harness/testkit/Verifies";
import { create, readsOf } from "../../src/conversations/ConversationRows.ts";
import type { Send } from "../../src/conversations/Conversations.ts";
import * as RecordRows from "../../src/store/RecordRows.ts";
import { pack } from "../../src/transport/Parcels.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

/** Only its size matters here: a stand-in that encodes to about `bytes` bytes. */
const packetOf = (bytes: number, mark: number): Packet =>
  ({ kind: "record_request", mark, padding: "x".repeat(bytes) }) as unknown as Packet;

verifies("HIS-14", "packets keep their order on every way and never make a plaintext too large", () => {
  const ways = ["lane", "a", "b"] as const;
  fc.assert(
    fc.property(
      fc.array(fc.record({ way: fc.constantFrom(...ways), bytes: fc.nat(379_000) }), { maxLength: 24 }),
      (drawn) => {
        const sends: ReadonlyArray<Send> = drawn.map(({ way, bytes }, mark) => ({
          conversationId: "c" as ConversationId,
          to: way as "lane" | AgentId,
          packet: packetOf(bytes, mark),
        }));
        const parcels = pack(sends);
        for (const way of ways) {
          const sent = sends.filter(({ to }) => to === way).map(({ packet }) => packet);
          expect(parcels.filter(({ to }) => to === way).flatMap(({ packets }) => packets)).toEqual(sent);
        }
        for (const { texts } of parcels) {
          expect(texts.length).toBeGreaterThan(0);
          const plaintext = `{"packets":[${texts.join(",")}],"seen":${"s".repeat(400)}}`;
          expect(texts.length === 1 || Buffer.byteLength(plaintext) <= Limits.packetBytesMax).toBe(true);
        }
      },
    ),
    { numRuns: 40 },
  );
});

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
