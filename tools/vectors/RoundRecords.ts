// Chains that changed their round, at every size, and records that must not follow where they claim to: damaged in every
// place, or truly signed and still against a law of later rounds.

import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import * as Changes from "./Changes.ts";
import * as Conversations from "./Conversations.ts";
import { type Files, json } from "./Family.ts";
import { registry } from "./People.ts";
import { sizes } from "./Reanchors.ts";
import { type Changed, changing, openedCarried, openedLater } from "./RoundChains.ts";
import { unlawful } from "./RoundLaws.ts";

const named = (
  name: string,
  cast: Conversations.Cast,
  { records }: Changed,
  length = records.length,
): Conversations.NamedChain => ({ name, cast, records: records.slice(0, length) });

/** Four records show a record carried; the longer tail is left to the small conversations, whose evidence is short. */
const chainsOf = (n: number): ReadonlyArray<Conversations.NamedChain> => {
  const cast = Conversations.castOfSize(n);
  const changed = named(`${n} members`, cast, changing(cast), n > 7 ? 4 : 7);
  if (n > 7) return [changed];
  return [
    changed,
    named(`${n} members, opened in a later round`, cast, openedLater(cast)),
    named(`${n} members, GENESIS carried`, cast, openedCarried(cast)),
  ];
};

const damaged = ({ name, records }: Conversations.NamedChain, height: number) => {
  const record = records[height] as Json;
  return [...Changes.changedLeaves(record), ...Changes.changedShapes(record)].map((change) => ({
    chain: name,
    height,
    ...change,
  }));
};

export const files = (): Files => {
  const chains = sizes.flatMap(chainsOf);
  const of = (name: string) => chains.find((chain) => chain.name === name) as Conversations.NamedChain;
  return new Map([
    [
      "rounds.json",
      json({
        about:
          "Read like records.json: each of `chains` verifies under registryKey, record by record, each of `refused` must be " +
          "refused in the place of the record at `height` of the named chain.",
        registryKey: registry.publicKey,
        quorums: [],
        chains: chains.map(({ name, cast, records }) => ({
          name,
          members: cast.people.map(({ card }) => card.agentName),
          records,
        })),
        refused: [
          ...damaged(of("2 members"), 3),
          ...damaged(of("4 members"), 3),
          ...damaged(of("2 members, GENESIS carried"), 0),
          ...[2, 4].flatMap((n) =>
            unlawful(Conversations.castOfSize(n)).map(({ height, name, reason, record }) => ({
              chain: `${n} members`,
              height,
              name,
              reason,
              record,
            })),
          ),
        ],
      }),
    ],
  ]);
};
