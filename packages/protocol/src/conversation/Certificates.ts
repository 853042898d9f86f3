// Certificates as they grow: signer maps, their entries in order, and whether an action certificate is complete.

import * as Evidence from "../history/Evidence.ts";
import { actionThresholdOf } from "../history/Quorum.ts";
import type * as Statement from "../history/Statement.ts";
import type { AgentId } from "../identity/Identifier.ts";
import type { Draft } from "./Draft.ts";
import type { OpenRecord, SignerMap } from "./State.ts";

export const mapOf = (entries: ReadonlyArray<Statement.SignerEvidence>): SignerMap =>
  Object.fromEntries(entries.map(({ signerAgentId, signature }) => [signerAgentId, signature]));

export const entriesOf = (map: SignerMap): Evidence.Signatures =>
  Evidence.sorted(
    Object.entries(map).map(([signerAgentId, signature]) => ({
      signerAgentId: signerAgentId as AgentId,
      signature,
    })),
  );

export const isActionCertified = (draft: Draft, record: OpenRecord): boolean =>
  record.author in record.action &&
  Object.keys(record.action).length >= actionThresholdOf(draft.inputs.members.n, record.height);
