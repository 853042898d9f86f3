// Vector files of chains, read as a verifier reads them: each chain record by record, each refused record in its place.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Evidence from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import * as Changes from "../../../../tools/vectors/Changes.ts";
import * as VectorFiles from "../encoding/VectorFiles.ts";

type Json = CanonicalJson.Json;

/** A whole record, or a change of the one that stands in that place. */
export type RefusedRecord = {
  readonly name: string;
  readonly chain: string;
  readonly height: number;
  readonly reason?: string;
  readonly record?: Json;
} & Partial<Changes.Change>;

interface Vectors {
  readonly registryKey: SigningKey;
  readonly quorums: ReadonlyArray<{ readonly n: number; readonly quorum: number }>;
  readonly chains: ReadonlyArray<{
    readonly name: string;
    readonly members: ReadonlyArray<string>;
    readonly records: ReadonlyArray<Json>;
  }>;
  readonly refused: ReadonlyArray<RefusedRecord>;
}

const decodeRecord = Closed.bytesDecoder(Evidence.HistoryRecord, {
  bytesMax: Limits.exportLineBytesMax,
  depthMax: Limits.jsonDepthMax,
});

interface Read {
  readonly head: VerifyRecord.ChainHead | null;
  readonly records: ReadonlyArray<Evidence.HistoryRecord>;
}

const next = (trust: VerifyRecord.Trust, { head, records }: Read, value: Json): Read => {
  const record = decodeRecord(CanonicalJson.encodeBytes(value));
  return {
    head: VerifyRecord.verifyNext(trust, head, record, VerifiedChain.ancestryOf(records)),
    records: [...records, record],
  };
};

/** The chains of a file, verified, and a function that says why a refused record is refused in its place. */
export const read = (file: string) => {
  const { registryKey, quorums, chains, refused } = VectorFiles.json<Vectors>(file);
  const trust: VerifyRecord.Trust = { verifier: Ed25519.verifier, registryKey };
  /** Where each named chain stands before the record of each height. */
  const before = new Map(
    chains.map(({ name, records: chain }) => {
      const reads: Array<Read> = [{ head: null, records: [] }];
      for (const record of chain) reads.push(next(trust, reads.at(-1) as Read, record));
      return [name, { chain, reads }] as const;
    }),
  );
  return {
    registryKey,
    quorums,
    refused,
    chains: chains.map(({ name, members }) => ({
      name,
      members,
      ...(before.get(name)?.reads.at(-1) as Read & { readonly head: VerifyRecord.ChainHead }),
    })),
    refusalOf: ({ chain, height, record, ...rest }: RefusedRecord): string => {
      const base = before.get(chain);
      if (base === undefined) throw new RangeError(`no chain ${chain}`);
      const value = record ?? Changes.apply(base.chain[height] as Json, rest as Changes.Change);
      try {
        next(trust, base.reads[height] as Read, value);
      } catch (error) {
        if (error instanceof DecodeError) return "decode";
        if (error instanceof RecordError) return error.reason;
        throw error;
      }
      return "accepted";
    },
  };
};
