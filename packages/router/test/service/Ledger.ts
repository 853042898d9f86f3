// The oracle of the fault tests: what senders were told, held against what recipients got. Nothing accepted is missing,
// nothing is doubled, and every recipient saw every lane in its one order.

import { expect } from "vitest";
import type { SendOutcome } from "../../src/client/RouterClient.ts";
import type * as Envelope from "../../src/wire/Envelope.ts";
import * as Lane from "../../src/wire/Lane.ts";
import { idOf, type Agent, type Told } from "../Fixture.ts";

interface Sent {
  readonly finished: Envelope.FinishedEnvelope;
  readonly outcome: Promise<SendOutcome>;
}

export interface Ledger {
  /** Sends through the sender's client and remembers it. */
  readonly send: (sender: Told, finished: Envelope.FinishedEnvelope) => void;
  /** How many deliveries the agent will have when everything has arrived. */
  readonly expected: (agent: Agent) => number;
  readonly sentBy: (agent: Agent) => number;
  /** Sends without a verdict. */
  readonly open: () => number;
  readonly outcomes: () => Promise<ReadonlyArray<SendOutcome>>;
  /** Throws unless everyone holds exactly what was sent, in lane order and in each sender's order. */
  readonly audit: (everyone: ReadonlyArray<Told>) => Promise<void>;
}

export const makeLedger = (): Ledger => {
  const sent: Array<Sent> = [];
  let open = 0;
  const sentTo = (agent: Agent) =>
    sent.filter(({ finished }) => finished.envelope.recipientAgentIds.includes(idOf(agent)));

  /** Every lane is 1, 2, 3, ... and one hash chain; returns message -> place. */
  const auditLanes = ({ deliveries }: Told): ReadonlyMap<string, string> => {
    const heads = new Map<
      string,
      { readonly sequence: number; readonly laneHead: Lane.LaneHead["laneHead"] }
    >();
    const places = new Map<string, string>();
    for (const { lane, sequence, laneHead, envelope, envelopeDigest } of deliveries) {
      const last = heads.get(lane);
      expect(sequence).toBe((last?.sequence ?? 0) + 1);
      const step = { lane, previous: last?.laneHead ?? null, sequence, envelopeDigest };
      expect(Lane.laneHeadOf(step)).toBe(laneHead);
      heads.set(lane, { sequence, laneHead });
      expect(places.has(envelope.messageId)).toBe(false);
      places.set(envelope.messageId, `${lane} ${sequence}`);
    }
    return places;
  };

  /** What one sender put into one lane arrives in the order in which it was sent. */
  const auditSenders = ({ agent, deliveries }: Told): void => {
    const key = ({ senderAgentId, recipientAgentIds }: Envelope.Envelope): string =>
      `${senderAgentId} ${Lane.laneOf(recipientAgentIds)}`;
    const group = (envelopes: ReadonlyArray<Envelope.Envelope>) => {
      const groups = new Map<string, Array<string>>();
      for (const envelope of envelopes) {
        groups.set(key(envelope), [...(groups.get(key(envelope)) ?? []), envelope.messageId]);
      }
      return groups;
    };
    expect(group(deliveries.map(({ envelope }) => envelope))).toEqual(
      group(sentTo(agent).map(({ finished }) => finished.envelope)),
    );
  };

  return {
    send: (sender, finished) => {
      open += 1;
      const verdict = sender.client.send(finished.text, finished.envelope.messageId);
      sent.push({ finished, outcome: verdict.finally(() => (open -= 1)) });
    },
    expected: (agent) => sentTo(agent).length,
    sentBy: (agent) => sent.filter(({ finished }) => finished.envelope.senderAgentId === idOf(agent)).length,
    open: () => open,
    outcomes: () => Promise.all(sent.map(({ outcome }) => outcome)),
    audit: async (everyone) => {
      const places = new Map<string, string>();
      for (const told of everyone) {
        expect(told.gaps).toEqual([]);
        for (const [messageId, place] of auditLanes(told)) {
          expect(places.get(messageId) ?? place).toBe(place);
          places.set(messageId, place);
        }
        expect(told.deliveries.map(({ cursor }) => cursor)).toEqual(told.deliveries.map((_, i) => i + 1));
        auditSenders(told);
      }
      for (const { finished, outcome } of sent) {
        const verdict = await outcome;
        const place = verdict.kind === "accepted" ? `${verdict.lane} ${verdict.sequence}` : verdict.reason;
        expect(places.get(finished.envelope.messageId)).toBe(place);
      }
    },
  };
};
