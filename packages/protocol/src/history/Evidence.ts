// What makes a record certified: its action certificate, its durability certificate and the anchors they stand under.
// Evidence is never inside a record's hash: members' sets may differ. Implements HIS-08 and HIS-11.

import * as Schema from "effect/Schema";
import type { Json } from "../encoding/CanonicalJson.ts";
import * as Base64Url from "../encoding/Base64Url.ts";
import { hash } from "../encoding/Hash.ts";
import { compareAgentIds, Ed25519Signature, RecordHash } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import { GenesisAnchor, ReanchorBody, RecordCore } from "./Record.ts";
import { ReanchorStatement, SignerEvidence } from "./Statement.ts";

/** "X + signature": a statement's own fields and the signature over them alone. */
export const SignedReanchorStatement = Schema.Struct({
  ...ReanchorStatement.fields,
  signature: Ed25519Signature.schema,
});
export type SignedReanchorStatement = typeof SignedReanchorStatement.Type;

export const CompletedReanchor = Schema.Struct({
  kind: Schema.Literal("completed_reanchor"),
  body: ReanchorBody,
  statements: Schema.Array(SignedReanchorStatement).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(Limits.membersMax),
  ),
});
export type CompletedReanchor = typeof CompletedReanchor.Type;

/** The genesis anchor's body, or the completed re-anchor with its statements. */
export const RouterAnchor = Schema.Union([GenesisAnchor, CompletedReanchor]);
export type RouterAnchor = typeof RouterAnchor.Type;

/** 1 to 32 entries in strictly increasing order of decoded AgentId bytes. */
export const Signatures = Schema.Array(SignerEvidence).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(Limits.membersMax),
  Schema.makeFilter(
    (entries: ReadonlyArray<SignerEvidence>) =>
      isOrdered(entries) || "expected entries in strictly increasing order of decoded AgentId bytes",
  ),
);
export type Signatures = typeof Signatures.Type;

const isOrdered = (entries: ReadonlyArray<SignerEvidence>): boolean =>
  entries.every((entry, i) => {
    const previous = entries[i - 1];
    return previous === undefined || compareAgentIds(previous.signerAgentId, entry.signerAgentId) < 0;
  });

export const sorted = (entries: Iterable<SignerEvidence>): Signatures =>
  [...entries].sort((left, right) => compareAgentIds(left.signerAgentId, right.signerAgentId));

export const schema = Schema.Struct({
  actionSignatures: Signatures,
  durabilityVotes: Signatures,
  routerAnchor: RouterAnchor,
  /** null: the durability votes stand under `routerAnchor` too. */
  durabilityAnchor: Schema.NullOr(CompletedReanchor),
});
export type Evidence = typeof schema.Type;

/** Digest of a record's evidence as this member froze it at commit, 32 bytes as base64url. */
export const digestOf = (evidence: Evidence): string => Base64Url.encode(hash("evidence", evidence as Json));

/** A record as history reads and exports carry it. */
export const HistoryRecord = Schema.Struct({
  recordHash: RecordHash.schema,
  recordCore: RecordCore,
  ...schema.fields,
});
export type HistoryRecord = typeof HistoryRecord.Type;
