// The entries of the Registry's one stream. Only what was accepted is written, so folding them needs no decision.

import * as Schema from "effect/Schema";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { Opaque32, OperationId } from "@social-harness/protocol/identity/Identifier";
import { InviteId } from "./Admission.ts";
import * as Limits from "./Limits.ts";

export const stream = "registry";

export const InviteUses = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.inviteUsesMax }));

/** An agent was registered. `inviteId` is the credential that admitted it, null in an open network. */
const Identity = Schema.Struct({
  kind: Schema.Literal("identity"),
  operationId: OperationId.schema,
  requestHash: Opaque32.schema,
  inviteId: Schema.NullOr(InviteId),
  agentCard: AgentCard.schema,
});
export type Identity = typeof Identity.Type;

const InviteCreated = Schema.Struct({
  kind: Schema.Literal("invite_created"),
  inviteId: InviteId,
  credentialHash: Opaque32.schema,
  uses: InviteUses,
  createdAt: AgentCard.Timestamp,
});
export type InviteCreated = typeof InviteCreated.Type;

const InviteRevoked = Schema.Struct({
  kind: Schema.Literal("invite_revoked"),
  inviteId: InviteId,
  revokedAt: AgentCard.Timestamp,
});
export type InviteRevoked = typeof InviteRevoked.Type;

export const schema = Schema.Union([Identity, InviteCreated, InviteRevoked]);
export type Entry = typeof schema.Type;

export const encode = (entry: Entry): Uint8Array => CanonicalJson.encodeBytes(entry);

/** Throws `DecodeError`: a log with an entry that this does not read is not folded any further. */
export const decode = Closed.bytesDecoder(schema, {
  bytesMax: Limits.entryBytesMax,
  depthMax: Limits.entryDepthMax,
});
