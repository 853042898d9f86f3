// Certified chains of 2, 3, 4, 10 and 32 members, and records that must not follow where they claim to: damaged in every
// place, or truly hashed and signed and still against a law of the chain.

import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import type { Content } from "@social-harness/protocol/history/Content";
import { quorumOf } from "@social-harness/protocol/history/Quorum";
import * as Changes from "./Changes.ts";
import * as Conversations from "./Conversations.ts";
import { type Files, json } from "./Family.ts";
import { registry } from "./People.ts";
import { brokenLaws } from "./RecordLaws.ts";

const contents: ReadonlyArray<Content> = [
  [{ type: "text", text: "Monday at ten?" }],
  [
    {
      type: "text",
      text: "\u05d9\u05d5\u05dd \u05e9\u05e0\u05d9 \u{1f388}\u0000\u001f\u2028\ufeff \u202eevil\u202c",
    },
  ],
  [
    { type: "text", text: "" },
    {
      type: "data",
      value: {
        price: 12.5,
        huge: 1e21,
        tiny: 1e-7,
        nested: [[[[[[["deep"]]]]]]],
        "\ufb33": 1,
        "\u{1f600}": 2,
      },
    },
  ],
  [{ type: "data", value: null }],
];

const chain = (name: string, n: number, length: number): Conversations.NamedChain => {
  const cast = Conversations.castOfSize(n);
  return { name, cast, records: Conversations.chainOf(cast, contents.slice(0, length)) };
};

export const two = chain("two", 2, 4);
export const four = chain("four", 4, 3);
const chains = [two, chain("three", 3, 3), four, chain("ten", 10, 2), chain("thirty-two", 32, 2)];

const damaged = ({ name, records }: Conversations.NamedChain, heights: ReadonlyArray<number>) =>
  heights.flatMap((height) => {
    const record = records[height] as Json;
    return [...Changes.changedLeaves(record), ...Changes.changedShapes(record)].map((change) => ({
      chain: name,
      height,
      ...change,
    }));
  });

export const files = (): Files =>
  new Map([
    [
      "records.json",
      json({
        about:
          "Each of `chains` verifies under registryKey, record by record. Each of `refused` stands in the place of the record " +
          "at `height` of the named chain, whose earlier records are good, and must be refused there: it is either that record " +
          "with one change (`path`, then `value`, or `remove`), or `record` itself.",
        registryKey: registry.publicKey,
        quorums: Array.from({ length: 31 }, (_, i) => ({ n: i + 2, quorum: quorumOf(i + 2) })),
        chains: chains.map(({ name, cast, records }) => ({
          name,
          members: cast.people.map(({ card }) => card.agentName),
          records,
        })),
        refused: [...damaged(two, [0, 2]), ...damaged(four, [1]), ...brokenLaws(two, four)],
      }),
    ],
  ]);
