// Exported conversations as files, and edits of them that a reader must refuse.

import type { MessageAddress } from "@social-harness/protocol/address/Address";
import * as Address from "@social-harness/protocol/address/Address";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Export from "@social-harness/protocol/history/Export";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Conversations from "./Conversations.ts";
import { type Files, json } from "./Family.ts";
import { otherRegistry, type Person, person, registry } from "./People.ts";
import { four, two } from "./Records.ts";
import { changing } from "./RoundChains.ts";

interface Refused {
  readonly name: string;
  readonly reason: Export.ExportReason;
  readonly file: string;
  readonly registryKey: SigningKey;
  /** Lines counted from 0: from `at`, `remove` lines go and `insert` come. */
  readonly at: number;
  readonly remove: number;
  readonly insert: ReadonlyArray<string>;
}

const addressFor = ({ cast }: Conversations.NamedChain, exporter: Person): MessageAddress =>
  Address.ofMembers(
    cast.people.map(({ card }) => card.agentName),
    exporter.card.agentName,
  );

const exported = (
  chain: Conversations.NamedChain,
  exporter: Person,
  changes: {
    readonly records?: ReadonlyArray<HistoryRecord>;
    readonly signer?: Person;
    readonly address?: MessageAddress;
    readonly registryKey?: SigningKey;
  } = {},
): ReadonlyArray<string> =>
  [
    ...Export.write(
      (changes.signer ?? exporter).signer,
      {
        address: changes.address ?? addressFor(chain, exporter),
        exportedBy: exporter.card.agentId,
        registryKey: changes.registryKey ?? registry.publicKey,
      },
      changes.records ?? chain.records,
    ),
  ].map((line) => line.slice(0, -1));

/** The conversation of four once more, as it went through later rounds. */
const inRounds: Conversations.NamedChain = {
  name: "four, in rounds",
  cast: four.cast,
  records: changing(four.cast).records,
};
const exporter = Conversations.member(two.cast, 1);
const file = "export_two.jsonl";
const lines = exported(two, exporter);
const last = lines.length - 1;
const line = (index: number): string => lines[index] as string;

const withHeader = (changes: { readonly [name: string]: CanonicalJson.Json }): ReadonlyArray<string> => [
  CanonicalJson.encode({ ...(JSON.parse(line(0)) as { [name: string]: CanonicalJson.Json }), ...changes }),
];

const whole = (
  name: string,
  reason: Export.ExportReason,
  insert: ReadonlyArray<string>,
  registryKey = registry.publicKey,
): Refused => ({
  name,
  reason,
  file,
  registryKey,
  at: 0,
  remove: lines.length,
  insert,
});

const edited = (
  name: string,
  reason: Export.ExportReason,
  at: number,
  remove: number,
  insert: ReadonlyArray<string> = [],
): Refused => ({
  name,
  reason,
  file,
  registryKey: registry.publicKey,
  at,
  remove,
  insert,
});

const refused = (): ReadonlyArray<Refused> => {
  const outsider = person("outsider");
  const [first, second, third] = two.records as readonly [HistoryRecord, HistoryRecord, HistoryRecord];
  const { durabilityVotes } = second;
  const shortVotes = { ...second, durabilityVotes: durabilityVotes.slice(1) };
  return [
    whole("nothing at all", "truncated", []),
    edited("no header", "malformed", 0, 1),
    edited("two headers", "malformed", 0, 0, [line(0)]),
    edited("no GENESIS", "record", 1, 1),
    edited("a record left out", "record", 2, 1),
    edited("a record twice", "record", 2, 0, [line(2)]),
    edited("two records exchanged", "record", 2, 2, [line(3), line(2)]),
    edited("stops before the last record", "truncated", last - 1, 2),
    edited("stops before the end line", "truncated", last, 1),
    edited("two end lines", "trailing", last, 0, [line(last)]),
    edited("an empty line behind the end", "trailing", last + 1, 0, [""]),
    edited("an empty line in the middle", "malformed", 2, 0, [""]),
    edited("a carriage return before a line feed", "malformed", 1, 1, [`${line(1)}\r`]),
    edited("a space in a line", "malformed", 1, 1, [line(1).replace(":", ": ")]),
    edited("an unknown version", "malformed", 0, 1, withHeader({ version: 2 })),
    edited("an excess member in the header", "malformed", 0, 1, withHeader({ more: 1 })),
    edited("one record fewer announced", "header", 0, 1, withHeader({ records: two.records.length - 1 })),
    edited("one record more announced", "malformed", 0, 1, withHeader({ records: two.records.length + 1 })),
    edited("another head announced", "header", 0, 1, withHeader({ headRecordHash: second.recordHash })),
    edited(
      "another exporter named",
      "header",
      0,
      1,
      withHeader({ exportedBy: Conversations.member(two.cast, 0).card.agentId }),
    ),
    edited(
      "an exporter that is no member",
      "header",
      0,
      1,
      withHeader({ exportedBy: outsider.card.agentId }),
    ),
    edited("another address", "header", 0, 1, withHeader({ address: "agent:outsider" })),
    edited(
      "another Registry named",
      "registry-key",
      0,
      1,
      withHeader({ registryKey: otherRegistry.publicKey }),
    ),
    whole("the pinned Registry is another", "registry-key", lines, otherRegistry.publicKey),
    whole(
      "made under another Registry, as the file itself says",
      "record",
      exported(two, exporter, { registryKey: otherRegistry.publicKey }),
      otherRegistry.publicKey,
    ),
    whole(
      "signed by another member",
      "end",
      exported(two, exporter, { signer: Conversations.member(two.cast, 0) }),
    ),
    whole("signed by a stranger", "end", exported(two, exporter, { signer: outsider })),
    whole(
      "an address that the exporter does not use",
      "header",
      exported(two, exporter, { address: Address.ofAgent(exporter.card.agentName) }),
    ),
    whole("a shorter history under the old end line", "end", [
      ...exported(two, exporter, { records: [first, second, third] }).slice(0, -1),
      line(last),
    ]),
    whole(
      "a record with a vote too few, signed by the exporter",
      "record",
      exported(two, exporter, { records: [first, shortVotes] }),
    ),
    whole(
      "a chain without its GENESIS, signed by the exporter",
      "record",
      exported(two, exporter, { records: [second, third] }),
    ),
  ];
};

const text = (all: ReadonlyArray<string>): string => all.map((one) => `${one}\n`).join("");

export const files = (): Files =>
  new Map([
    [file, text(lines)],
    ["export_four.jsonl", text(exported(four, Conversations.member(four.cast, 0)))],
    ["export_rounds.jsonl", text(exported(inRounds, Conversations.member(four.cast, 2)))],
    [
      "exports.json",
      json({
        about:
          "The .jsonl files named in `accepted` verify under registryKey. Each of `refused` is such a file in whose lines, " +
          "counted from 0 and each ended by LF, `remove` lines from `at` on give way to `insert`; it must be refused under the " +
          "registryKey beside it. `reason` is this project's.",
        registryKey: registry.publicKey,
        accepted: [file, "export_four.jsonl", "export_rounds.jsonl"],
        refused: refused(),
      }),
    ],
  ]);
