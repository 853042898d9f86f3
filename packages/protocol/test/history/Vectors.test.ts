import { expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Packet from "@social-harness/protocol/conversation/Packet";
import * as Evidence from "@social-harness/protocol/history/Evidence";
import * as Export from "@social-harness/protocol/history/Export";
import { quorumOf } from "@social-harness/protocol/history/Quorum";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import type * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { Ed25519Signature, SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Changes from "../../../../tools/vectors/Changes.ts";
import * as VectorFiles from "../encoding/VectorFiles.ts";

type Json = CanonicalJson.Json;

interface RefusedRecord {
  readonly name: string;
  readonly chain: string;
  readonly height: number;
  readonly reason?: string;
  readonly record?: Json;
}

const records = VectorFiles.json<{
  readonly registryKey: SigningKey;
  readonly quorums: ReadonlyArray<{ readonly n: number; readonly quorum: number }>;
  readonly chains: ReadonlyArray<{
    readonly name: string;
    readonly members: ReadonlyArray<string>;
    readonly records: ReadonlyArray<Json>;
  }>;
  readonly refused: ReadonlyArray<RefusedRecord & Partial<Changes.Change>>;
}>("records.json");

const trustIn = (registryKey: SigningKey): VerifyRecord.Trust => ({
  verifier: Ed25519.verifier,
  registryKey,
});
const trust = trustIn(records.registryKey);
const decodeRecord = Closed.bytesDecoder(Evidence.HistoryRecord, {
  bytesMax: Limits.exportLineBytesMax,
  depthMax: Limits.jsonDepthMax,
});

interface Read {
  readonly head: VerifyRecord.ChainHead | null;
  readonly records: ReadonlyArray<Evidence.HistoryRecord>;
}

const next = ({ head, records: read }: Read, value: Json): Read => {
  const record = decodeRecord(CanonicalJson.encodeBytes(value));
  return {
    head: VerifyRecord.verifyNext(trust, head, record, VerifiedChain.ancestryOf(read)),
    records: [...read, record],
  };
};

/** Where each named chain stands before the record of each height. */
const before = new Map(
  records.chains.map(({ name, records: chain }) => {
    const reads: Array<Read> = [{ head: null, records: [] }];
    for (const record of chain) reads.push(next(reads.at(-1) as Read, record));
    return [name, { chain, reads }] as const;
  }),
);

verifies(
  ["HIS-60", "HIS-01"],
  "chains of 2, 3, 4, 10 and 32 members verify with exactly their thresholds' signatures",
  () => {
    expect(records.chains.map(({ members }) => members.length)).toEqual([2, 3, 4, 10, 32]);
    for (const { name, members, records: chain } of records.chains) {
      const head = before.get(name)?.reads.at(-1)?.head;
      expect(head?.height, name).toBe(chain.length - 1);
      expect(head?.members.cards.map(({ agentName }) => agentName)).toEqual(members);
      const last = decodeRecord(CanonicalJson.encodeBytes(chain.at(-1) as Json));
      expect(last.actionSignatures.length).toBe(quorumOf(members.length));
      expect(last.durabilityVotes.length).toBe(quorumOf(members.length));
    }
  },
);

verifies("HIS-01", "q(n) is the stated one for every number of members", () => {
  expect(records.quorums.map(({ n }) => n)).toEqual(Array.from({ length: 31 }, (_, i) => i + 2));
  for (const { n, quorum } of records.quorums) expect(quorumOf(n), `${n} members`).toBe(quorum);
});

const refusalOf = ({ chain, height, record, ...rest }: (typeof records.refused)[number]): string => {
  const base = before.get(chain);
  if (base === undefined) throw new RangeError(`no chain ${chain}`);
  const value = record ?? Changes.apply(base.chain[height] as Json, rest as Changes.Change);
  try {
    next(base.reads[height] as Read, value);
  } catch (error) {
    if (error instanceof DecodeError) return "decode";
    if (error instanceof RecordError) return error.reason;
    throw error;
  }
  return "accepted";
};

verifies(
  ["HIS-61", "HIS-62", "HIS-11", "HIS-12"],
  "every damaged or unlawful record is refused in its place, with the stated reason",
  () => {
    expect(records.refused.length).toBeGreaterThan(200);
    for (const refused of records.refused) {
      const title = `${refused.chain} ${refused.height}: ${refused.name}`;
      const reason = refusalOf(refused);
      expect(reason, title).not.toBe("accepted");
      if (refused.reason !== undefined) expect(reason, title).toBe(refused.reason);
    }
  },
);

verifies("HIS-10", "each kind of statement verifies under its own artifact, key and signature alone", () => {
  interface Signed {
    readonly artifact: string;
    readonly statement: Statement.Statement;
    readonly publicKey: SigningKey;
    readonly signature: Ed25519Signature;
  }
  const vectors = VectorFiles.json<{
    accepted: ReadonlyArray<Signed>;
    refused: ReadonlyArray<Signed & { name: string }>;
  }>("statements.json");
  const isGood = ({ publicKey, artifact, statement, signature }: Signed): boolean =>
    Ed25519.verifier.verify(publicKey, artifact, statement as Json, signature);
  for (const entry of vectors.accepted) {
    expect(entry.artifact).toBe(entry.statement.kind.replaceAll("_", "-"));
    expect(isGood(entry), entry.artifact).toBe(true);
  }
  for (const entry of vectors.refused)
    expect(isGood(entry), `${entry.statement.kind}: ${entry.name}`).toBe(false);
});

verifies("HIS-12", "every packet decodes to itself, and every change of its shape is refused", () => {
  const vectors = VectorFiles.json<{
    readonly accepted: ReadonlyArray<Json>;
    readonly refused: ReadonlyArray<
      { name: string; packet?: number } & Partial<Changes.Change> & { value?: Json }
    >;
  }>("packets.json");
  for (const packet of vectors.accepted) expect(Packet.decode(packet)).toEqual(packet);
  for (const { packet, ...change } of vectors.refused) {
    const base = packet === undefined ? undefined : (vectors.accepted[packet] as Json);
    const value = base === undefined ? (change.value as Json) : Changes.apply(base, change as Changes.Change);
    const kind = (base as { kind?: string } | undefined)?.kind ?? "no packet";
    expect(() => Packet.decode(value), `${kind}: ${change.name}`).toThrow(DecodeError);
  }
});

const readExport = (
  lines: ReadonlyArray<string>,
  registryKey: SigningKey,
): ReadonlyArray<Export.VerifiedPost> => {
  const reader = Export.createReader(trustIn(registryKey));
  const posts = reader.write(Buffer.from(lines.map((line) => `${line}\n`).join(""), "utf8"));
  reader.finish();
  return posts;
};

verifies(
  ["RUN-40", "RUN-41", "RUN-42"],
  "exported files verify, and every edit of one is refused for the stated reason",
  () => {
    const vectors = VectorFiles.json<{
      readonly registryKey: SigningKey;
      readonly accepted: ReadonlyArray<string>;
      readonly refused: ReadonlyArray<{
        readonly name: string;
        readonly reason: string;
        readonly file: string;
        readonly registryKey: SigningKey;
        readonly at: number;
        readonly remove: number;
        readonly insert: ReadonlyArray<string>;
      }>;
    }>("exports.json");
    for (const file of vectors.accepted) {
      const lines = VectorFiles.lines(file);
      expect(readExport(lines, vectors.registryKey).length, file).toBe(lines.length - 2);
    }
    for (const { name, reason, file, registryKey, at, remove, insert } of vectors.refused) {
      const lines = VectorFiles.lines(file).toSpliced(at, remove, ...insert);
      expect(() => readExport(lines, registryKey), name).toThrow(
        expect.objectContaining({ name: "ExportError", reason }),
      );
    }
  },
);
