// The host of the agent that is killed: reads its inbox to the end, keeps what it was handed in its journal, and
// acknowledges when it is told to, each call repeated across the deaths of the daemon.

import type { DeliveryToken } from "@social-harness/protocol/identity/Identifier";
import type { EndpointClient } from "../faults/Client.ts";
import * as Consumer from "../faults/Consumer.ts";
import type { Faults } from "../faults/Fault.ts";
import * as Journal from "../faults/Journal.ts";

export interface HostOptions {
  readonly name: string;
  readonly client: EndpointClient;
  readonly journalFile: string;
  readonly faults: Faults;
  /** Calls again while nobody answers. */
  readonly untilAnswered: <A>(call: () => Promise<A>) => Promise<A>;
}

export interface Host {
  /** What waits in the inbox, in its order. */
  readonly read: () => Promise<ReadonlyArray<DeliveryToken>>;
  readonly acknowledge: (token: DeliveryToken) => Promise<void>;
  readonly journal: Journal.Journal;
}

export const create = ({ name, client, journalFile, faults, untilAnswered }: HostOptions): Host => {
  const journal = Journal.open(journalFile);
  const { look } = Consumer.watch(name, journal, faults);
  return {
    read: async () => {
      const tokens: Array<DeliveryToken> = [];
      let cursor: string | undefined;
      do {
        const input = cursor === undefined ? {} : { cursor };
        const { items, nextCursor } = await untilAnswered(() => client.call("read_inbox", input));
        items.forEach(look);
        tokens.push(...items.map(({ deliveryToken }) => deliveryToken));
        cursor = nextCursor;
      } while (cursor !== undefined);
      return tokens;
    },
    acknowledge: async (deliveryToken) => {
      journal.write({ kind: "asked", token: deliveryToken });
      await untilAnswered(() => client.call("acknowledge_delivery", { deliveryToken }));
      journal.write({ kind: "done", token: deliveryToken });
    },
    journal,
  };
};
