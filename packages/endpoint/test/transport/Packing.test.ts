// How a turn's packets become envelopes: by the way they go, in their order, and never more than fits. The sealer is real
// and shows what it was given.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import * as fc from "fast-check";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import * as Membership from "@social-harness/protocol/history/Membership";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { createSealer } from "@social-harness/router/seal/Sealing";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { createAgents } from "@social-harness/testkit/simulation/Agents";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as ConversationRows from "../../src/conversations/ConversationRows.ts";
import * as Database from "../../src/store/Database.ts";
import * as Outbox from "../../src/transport/Outbox.ts";
import { createOwnCopies } from "../../src/transport/OwnCopies.ts";

const random = (byteCount: number): Buffer => randomBytes(byteCount);

/** A packet of a size, recognised by its number. Packing looks at its bytes alone. */
const packetOf = (number: number, bytes: number): Packet => {
  const bare = { kind: "record_request", number, padding: "" };
  return { ...bare, padding: "x".repeat(bytes - JSON.stringify(bare).length) } as unknown as Packet;
};

verifies(
  "HIS-14",
  "packets share envelopes by their way, in order, as far as they fit, and none goes empty",
  () => {
    const db = Database.open(join(temporaryFolder(), "endpoint.sqlite"));
    const { agents } = createAgents(4, "packing", true);
    const [self, ...others] = agents as [(typeof agents)[0], ...typeof agents];
    const members = Membership.ofCards(agents.map(({ card }) => card));
    const conversation = ConversationRows.create(db, members, self.card.agentId);
    const sealer = createSealer({ random, clock: Date.now });
    const plaintexts: Array<{
      readonly way: number;
      readonly bytes: number;
      readonly numbers: ReadonlyArray<number>;
    }> = [];
    const options: Outbox.PackingOptions = {
      card: self.card,
      signer: self.signer,
      random,
      ownCopies: createOwnCopies(),
      sealer: {
        seal: (recipients, plaintext) => {
          const { packets } = JSON.parse(Buffer.from(plaintext).toString("utf8")) as {
            packets: ReadonlyArray<{ number: number }>;
          };
          const [first] = recipients;
          const way =
            recipients.length > 1 ? 0 : 1 + others.findIndex(({ card }) => card.agentId === first?.agentId);
          plaintexts.push({ way, bytes: plaintext.byteLength, numbers: packets.map(({ number }) => number) });
          return sealer.seal(recipients, plaintext);
        },
      },
    };
    const wayOf = (way: number): "lane" | AgentId =>
      way === 0 ? "lane" : (others[way - 1]?.card.agentId as AgentId);
    const largest = Limits.packetBytesMax - 1_024;
    const sends = fc.array(
      fc.record({
        way: fc.nat(3),
        bytes: fc.oneof(fc.integer({ min: 100, max: 2_000 }), fc.integer({ min: 100, max: largest })),
      }),
      { minLength: 1, maxLength: 24 },
    );
    fc.assert(
      fc.property(sends, (asked) => {
        plaintexts.length = 0;
        db.transaction(() =>
          Outbox.enqueue(
            db,
            asked.map(({ way, bytes }, number) => ({
              conversationId: members.conversationId,
              to: wayOf(way),
              packet: packetOf(number, bytes),
            })),
            () => conversation,
            options,
          ),
        );
        for (const { bytes, numbers } of plaintexts) {
          expect(bytes).toBeLessThan(Limits.packetBytesMax);
          expect(numbers.length).toBeGreaterThan(0);
        }
        for (const way of [0, 1, 2, 3]) {
          const sent = plaintexts.filter((plaintext) => plaintext.way === way);
          const expected = asked.flatMap((send, number) => (send.way === way ? [number] : []));
          expect(sent.flatMap(({ numbers }) => numbers)).toEqual(expected);
          // No envelope was begun while the one before it had room.
          for (const [i, later] of sent.slice(1).entries()) {
            const next = asked[later.numbers[0] as number]?.bytes as number;
            expect((sent[i]?.bytes as number) + next).toBeGreaterThan(Limits.packetBytesMax - 1_024);
          }
        }
      }),
      { numRuns: 60 },
    );
    db.close();
  },
);
