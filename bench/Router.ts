// How many envelopes a Router takes in for good and hands out, beside what its log engine alone appends with as many writers
// at once. The Router has a process of its own and every byte crosses a socket; rounds of both alternate.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { MessageId } from "@social-harness/protocol/identity/Identifier";
import * as Sealing from "@social-harness/router/seal/Sealing";
import * as Envelope from "@social-harness/router/wire/Envelope";
import { inFolder } from "./Fleet.ts";
import type { Line, Question } from "./Line.ts";
import * as NetworkProcess from "./NetworkProcess.ts";
import * as RouterMember from "./RouterMember.ts";
import { median } from "./Statistics.ts";

const fanOuts = [
  { recipients: 2, envelopes: 800 },
  { recipients: 32, envelopes: 200 },
];
const rounds = 5;
/** As many as a client of the Router has on the wire. */
const atOnce = 64;
/** The plaintext of a direct post's proposal. */
const bodyBytes = 1_200;

const random = (byteCount: number): Buffer => randomBytes(byteCount);

/** Runs `count` pieces of work, `atOnce` at a time. */
const many = async (count: number, work: () => Promise<unknown>): Promise<void> => {
  let left = count;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
};

const perSecond = async (count: number, work: Promise<void>): Promise<number> => {
  const started = performance.now();
  await work;
  return (count * 1_000) / (performance.now() - started);
};

const envelopesOf = (
  identities: ReadonlyArray<RouterMember.Identity>,
  count: number,
): ReadonlyArray<string> => {
  const [sender] = identities as readonly [RouterMember.Identity];
  const cards = Envelope.orderRecipients(identities.map(({ card }) => card.agentId)).map(
    (id) => (identities.find(({ card }) => card.agentId === id) as RouterMember.Identity).card,
  );
  const sealer = Sealing.createSealer({ random, clock: Date.now });
  return Array.from(
    { length: count },
    () =>
      Envelope.finish(sender.signer, {
        messageId: MessageId.fromBytes(random(16)),
        recipientAgentIds: cards.map(({ agentId }) => agentId),
        sealed: sealer.seal(cards, random(bodyBytes)),
        senderAgentId: sender.card.agentId,
        senderCardDigest: AgentCard.digestOf(sender.card),
      }).text,
  );
};

/** Sends envelopes from the first member to all, and knows when each was accepted and delivered everywhere. */
const openSenders = async (network: NetworkProcess.NetworkProcess, recipients: number) => {
  const identities = Array.from({ length: recipients }, (_, i) =>
    RouterMember.identity(`recipient-${i + 1}`),
  );
  const accepted: Array<() => void> = [];
  let missing = 0;
  let all = Promise.withResolvers<void>();
  const members: Array<RouterMember.RouterMember> = [];
  for (const one of identities) {
    members.push(
      await RouterMember.connect(network.reached, one, {
        accepted: () => accepted.shift()?.(),
        delivered: () => {
          missing -= 1;
          if (missing === 0) all.resolve();
        },
      }),
    );
  }
  let requestId = 0;
  const sendOne = (text: string): Promise<void> =>
    new Promise((resolve) => {
      accepted.push(resolve);
      requestId += 1;
      members[0]?.send(requestId, text);
    });
  return {
    run: async (envelopes: ReadonlyArray<string>): Promise<void> => {
      all = Promise.withResolvers<void>();
      missing = envelopes.length * recipients;
      const waiting = [...envelopes];
      await many(envelopes.length, () => sendOne(waiting.pop() as string));
      await all.promise;
    },
    envelopes: (count: number) => envelopesOf(identities, count),
    close: () => {
      for (const member of members) member.close();
    },
  };
};

const linesOf = (recipients: number, count: number): Promise<ReadonlyArray<Line>> =>
  inFolder(async (folder) => {
    const network = await NetworkProcess.start(folder);
    const log = openSqliteLog(join(folder, "append.sqlite"));
    const senders = await openSenders(network, recipients);
    const rates = { router: [] as Array<number>, append: [] as Array<number> };
    try {
      for (let round = -1; round < rounds; round++) {
        const envelopes = senders.envelopes(count);
        const bytes = Buffer.from(envelopes[0] as string);
        const router = await perSecond(count, senders.run(envelopes));
        const append = await perSecond(
          count,
          many(count, () => log.append("bench", bytes)),
        );
        if (round < 0) continue;
        rates.router.push(router);
        rates.append.push(append);
      }
    } finally {
      senders.close();
      await log.close();
      await network.close();
    }
    return [
      {
        name: `envelopes through the Router to ${recipients} recipients`,
        measured: { value: median(rates.router), unit: "/s" },
        against: { value: median(rates.append), unit: "/s", name: "appends of the log engine alone" },
        target: { atLeast: recipients === 2 ? 0.05 : 0.03 },
      },
    ];
  });

export const router: Question = {
  name: "router",
  asks: "How many envelopes does a Router take in and hand out, beside its log engine alone?",
  answer: async () => {
    const lines: Array<Line> = [];
    for (const { recipients, envelopes } of fanOuts) lines.push(...(await linesOf(recipients, envelopes)));
    return lines;
  },
};
