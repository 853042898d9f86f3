// A conversation as a portable file: a header line, one line a record, an end line that the exporter signs. Writing is a
// pure function of the records; reading verifies each line against nothing but the lines before it and the pinned Registry
// key. Knows no file and no endpoint. Implements RUN-40 to RUN-42.

import { createHash } from "node:crypto";
import * as Schema from "effect/Schema";
import * as Address from "../address/Address.ts";
import * as CanonicalJson from "../encoding/CanonicalJson.ts";
import * as Closed from "../encoding/Closed.ts";
import { DecodeError } from "../encoding/DecodeError.ts";
import { preimage } from "../encoding/Hash.ts";
import type { AgentCard } from "../identity/AgentCard.ts";
import {
  AgentId,
  Ed25519Signature,
  Opaque32,
  type PostId,
  RecordHash,
  SigningKey,
} from "../identity/Identifier.ts";
import type { Signer } from "../identity/Signing.ts";
import * as Limits from "../Limits.ts";
import type { Content } from "./Content.ts";
import { HistoryRecord } from "./Evidence.ts";
import { RecordError } from "./RecordError.ts";
import * as VerifiedChain from "./VerifiedChain.ts";
import type * as VerifyRecord from "./VerifyRecord.ts";

export const Header = Schema.Struct({
  kind: Schema.Literal("export"),
  version: Schema.Literal(1),
  /** The conversation as the exporter names it. */
  address: Address.MessageAddress,
  exportedBy: AgentId.schema,
  registryKey: SigningKey.schema,
  records: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  headRecordHash: RecordHash.schema,
});
export type Header = typeof Header.Type;

/** The signature is the exporter's, artifact `export-end`, over the end line without `signature`. */
export const End = Schema.Struct({
  kind: Schema.Literal("end"),
  recordHash: RecordHash.schema,
  linesHash: Opaque32.schema,
  signature: Ed25519Signature.schema,
});
export type End = typeof End.Type;

export type ExportReason =
  /** Not the canonical JSON of the line that stands in this place. */
  | "malformed"
  /** The file was made under another Registry key than the pinned one. */
  | "registry-key"
  /** The record does not verify against those before it. */
  | "record"
  /** Address, exporter, count or head of the header are not those of the records. */
  | "header"
  /** The end line does not close these lines, or its signature does not verify. */
  | "end"
  /** The file stops before its end line. */
  | "truncated"
  /** Something stands behind the end line. */
  | "trailing";

export class ExportError extends Error {
  override readonly name = "ExportError";
  readonly reason: ExportReason;
  /** Counted from 1. */
  readonly line: number;
  constructor(reason: ExportReason, line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.reason = reason;
    this.line = line;
  }
}

/** hash("export-lines", [line, ...]) line by line, so that no file needs to fit in memory. */
const linesHasher = () => {
  const empty = preimage("export-lines", []);
  const hash = createHash("sha256").update(empty.subarray(0, -1));
  let first = true;
  return {
    add: (line: string): void => {
      hash.update((first ? "" : ",") + CanonicalJson.encode(line), "utf8");
      first = false;
    },
    digest: (): Opaque32 => Opaque32.fromBytes(hash.update("]").digest()),
  };
};

/** The lines of an export, each with its line feed. `records` is the whole chain, GENESIS first, and not empty. */
export function* write(
  signer: Signer,
  subject: Pick<Header, "address" | "exportedBy" | "registryKey">,
  records: ReadonlyArray<HistoryRecord>,
): Generator<string> {
  const head = records.at(-1);
  if (head === undefined) throw new RangeError("an export has at least one record");
  const lines = linesHasher();
  const line = (value: CanonicalJson.Json): string => {
    const text = CanonicalJson.encode(value, Limits.jsonDepthMax);
    lines.add(text);
    return `${text}\n`;
  };
  const header: Header = {
    kind: "export",
    version: 1,
    address: subject.address,
    exportedBy: subject.exportedBy,
    registryKey: subject.registryKey,
    records: records.length,
    headRecordHash: head.recordHash,
  };
  yield line(header);
  for (const record of records) yield line(record as CanonicalJson.Json);
  const unsigned = { kind: "end" as const, recordHash: head.recordHash, linesHash: lines.digest() };
  const end: End = { ...unsigned, signature: signer.sign("export-end", unsigned) };
  yield `${CanonicalJson.encode(end)}\n`;
}

/** Who said what at one height, and whose verified signatures stand under it. */
export interface VerifiedPost {
  readonly height: number;
  readonly recordHash: RecordHash;
  readonly author: AgentCard;
  readonly postId: PostId;
  readonly content: Content;
  readonly actionSigners: ReadonlyArray<AgentCard>;
  readonly durabilitySigners: ReadonlyArray<AgentCard>;
}

export interface VerifiedExport {
  readonly header: Header;
  readonly exporter: AgentCard;
  /** In increasing order of decoded AgentId bytes. */
  readonly members: ReadonlyArray<AgentCard>;
}

export interface Reader {
  /** Verifies the lines that `chunk` completes, and returns their posts. Chunks may be cut anywhere. */
  readonly write: (chunk: Uint8Array) => ReadonlyArray<VerifiedPost>;
  /** Call after the last byte: throws unless it ended the end line. */
  readonly finish: () => VerifiedExport;
}

const lineFeed = 10;
const bounds = { bytesMax: Limits.exportLineBytesMax, depthMax: Limits.jsonDepthMax };
const decodeHeader = Closed.decoder(Header);
const decodeRecord = Closed.decoder(HistoryRecord);
const decodeEnd = Closed.decoder(End);

const cardsOf = (head: VerifyRecord.ChainHead, signers: HistoryRecord["actionSignatures"]) =>
  signers.map(({ signerAgentId }) => head.members.cardOf(signerAgentId) as AgentCard);

const postOf = (head: VerifyRecord.ChainHead, record: HistoryRecord): VerifiedPost => {
  const { action } = record.recordCore;
  return {
    height: head.height,
    recordHash: head.recordHash,
    author: head.members.cardOf(action.authorAgentId) as AgentCard,
    postId: action.postIntent.postId,
    content: action.postIntent.content,
    actionSigners: cardsOf(head, record.actionSignatures),
    durabilitySigners: cardsOf(head, record.durabilityVotes),
  };
};

/** Reads one export. Every method throws `ExportError` and nothing else; after a throw the reader is spent. */
export const createReader = (trust: VerifyRecord.Trust): Reader => {
  const lines = linesHasher();
  const chain = VerifiedChain.begin(trust);
  let rest: Uint8Array = new Uint8Array();
  let number = 0;
  let header: Header | null = null;
  let head: VerifyRecord.ChainHead | null = null;
  let recordCount = 0;
  let result: VerifiedExport | null = null;

  const refuse = (reason: ExportReason, message: string): never => {
    throw new ExportError(reason, number, message);
  };
  const decode = <A>(bytes: Uint8Array, expected: string, decoder: (value: CanonicalJson.Json) => A): A => {
    try {
      return decoder(CanonicalJson.decodeBytes(bytes, bounds));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      return refuse("malformed", `not ${expected}: ${error.message}`);
    }
  };

  const readHeader = (bytes: Uint8Array): void => {
    header = decode(bytes, "the header of an export", decodeHeader);
    if (header.registryKey !== trust.registryKey) {
      refuse("registry-key", "the export names another Registry key than the pinned one");
    }
  };

  const checkExporter = (known: Header, current: VerifyRecord.ChainHead): AgentCard => {
    const exporter = current.members.cardOf(known.exportedBy);
    if (exporter === undefined) return refuse("header", "the exporter is not a member of the conversation");
    const names = current.members.cards.map((card) => card.agentName);
    if (known.address !== Address.ofMembers(names, exporter.agentName)) {
      refuse("header", "the header's address is not that of this conversation");
    }
    return exporter;
  };

  const readRecord = (known: Header, bytes: Uint8Array): VerifiedPost => {
    const record = decode(bytes, "a record", decodeRecord);
    try {
      head = chain.take(record);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      return refuse("record", `record ${recordCount}: ${error.message}`);
    }
    recordCount += 1;
    if (recordCount === 1) checkExporter(known, head);
    if (recordCount === known.records && head.recordHash !== known.headRecordHash) {
      refuse("header", "the last record is not the one that the header names");
    }
    return postOf(head, record);
  };

  const readEnd = (known: Header, current: VerifyRecord.ChainHead, bytes: Uint8Array): void => {
    const { signature, ...unsigned } = decode(bytes, "the end of an export", decodeEnd);
    if (unsigned.recordHash !== known.headRecordHash || unsigned.linesHash !== lines.digest()) {
      refuse("end", "the end line closes other lines than these");
    }
    const exporter = checkExporter(known, current);
    if (!trust.verifier.verify(exporter.signingKey, "export-end", unsigned, signature)) {
      refuse("end", "the exporter's signature does not verify");
    }
    result = { header: known, exporter, members: current.members.cards };
  };

  const readLine = (bytes: Uint8Array): VerifiedPost | null => {
    number += 1;
    if (result !== null) return refuse("trailing", "something stands behind the end of the export");
    if (header !== null && head !== null && recordCount === header.records) {
      readEnd(header, head, bytes);
      return null;
    }
    const post = header === null ? (readHeader(bytes), null) : readRecord(header, bytes);
    lines.add(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
    return post;
  };

  return {
    write: (chunk) => {
      const bytes = rest.byteLength === 0 ? chunk : Buffer.concat([rest, chunk]);
      const found: Array<VerifiedPost> = [];
      let from = 0;
      for (let at = bytes.indexOf(lineFeed); at >= 0; from = at + 1, at = bytes.indexOf(lineFeed, from)) {
        const post = readLine(bytes.subarray(from, at));
        if (post !== null) found.push(post);
      }
      // Copied: the caller may fill the same buffer again.
      rest = Uint8Array.prototype.slice.call(bytes, from);
      if (rest.byteLength > bounds.bytesMax) {
        number += 1;
        return refuse("malformed", `a line has at most ${bounds.bytesMax} bytes`);
      }
      return found;
    },
    finish: () => {
      if (result !== null && rest.byteLength === 0) return result;
      number += 1;
      if (result !== null) return refuse("trailing", "something stands behind the end of the export");
      if (rest.byteLength > 0) return refuse("truncated", "the file ends in the middle of this line");
      return refuse(
        "truncated",
        header === null
          ? "the file is empty"
          : `the export stops after ${recordCount} of ${header.records} records`,
      );
    },
  };
};
