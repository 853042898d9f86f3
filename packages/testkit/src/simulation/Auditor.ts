// The laws that somebody who sees nothing but a chain may demand of it, in words of their own: nothing here is shared with
// the function that the product verifies by. Since a simulation knows every signature that was made, an honest member's
// in a certificate must be one of those. The clauses are HIS-60 to HIS-62.

import type {
  CompletedReanchor,
  HistoryRecord,
  RouterAnchor,
} from "@social-harness/protocol/history/Evidence";
import * as Record from "@social-harness/protocol/history/Record";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import { thresholdsOf, violate } from "./Violation.ts";

export interface AuditorOptions {
  /** In the order of their decoded bytes. */
  readonly ids: ReadonlyArray<AgentId>;
  readonly byzantine: ReadonlySet<AgentId>;
  /** Whether an honest member made a signature. */
  readonly made: (signer: AgentId, signature: string) => boolean;
}

interface Entry {
  readonly signerAgentId: AgentId;
  readonly signature: string;
}

const bodyOf = (anchor: RouterAnchor): Record.Anchor =>
  anchor.kind === "genesis_anchor" ? anchor : anchor.body;
const hashOf = (anchor: RouterAnchor): string => Record.anchorHashOf(bodyOf(anchor));

const demand = (holds: boolean, message: string): void => {
  if (!holds) violate("audit", message);
};

export interface Auditor {
  /** Checks one record against the certified records below it. */
  readonly askRecord: (record: HistoryRecord, below: ReadonlyArray<HistoryRecord>) => void;
  /** Checks that a round begins where its statements say, and carries what they say. */
  readonly askReanchor: (reanchor: CompletedReanchor) => void;
}

export const createAuditor = ({ ids, byzantine, made }: AuditorOptions): Auditor => {
  const { quorum, actionOf } = thresholdsOf(ids.length);
  const places = new Map(ids.map((id, i) => [id, i]));

  const askSigners = (entries: ReadonlyArray<Entry>, threshold: number, what: string): void => {
    demand(entries.length >= threshold, `too few ${what}`);
    let previous = -1;
    for (const { signerAgentId, signature } of entries) {
      const place = places.get(signerAgentId) ?? -1;
      demand(place > previous, `${what} are out of order, repeated or not by members`);
      demand(
        byzantine.has(signerAgentId) || made(signerAgentId, signature),
        `one of the ${what} was never made`,
      );
      previous = place;
    }
  };

  const askReanchor = ({ body, statements }: CompletedReanchor): void => {
    askSigners(statements, quorum, "statements");
    const agree = statements.every(
      ({ round, routerInstanceId }) => round === body.round && routerInstanceId === body.routerInstanceId,
    );
    demand(agree, "a statement is of another round or instance than its re-anchor");
    const heads = statements.map(({ head }) => head?.height ?? -1);
    const base = Math.max(...heads);
    const named = statements.find(({ head }) => (head?.height ?? -1) === base)?.head ?? null;
    demand(
      (named?.recordHash ?? null) === body.baseRecordHash,
      "a re-anchor begins at another record than stated",
    );
    const above = statements.flatMap(({ prepared }) => (prepared?.height === base + 1 ? [prepared] : []));
    const latest = Math.max(...above.map(({ round }) => round));
    const carried = above.filter(({ round }) => round === latest).map(({ recordHash }) => recordHash);
    const lowest = carried.sort()[0] ?? null;
    const agrees = body.carriedRecordHash === lowest || carried.includes(body.carriedRecordHash as never);
    demand(agrees, "a re-anchor carries another record than stated");
  };

  const askActionAnchor = (record: HistoryRecord, below: ReadonlyArray<HistoryRecord>): void => {
    const { routerAnchor, recordCore } = record;
    const previous = below.at(-1);
    const { round } = bodyOf(routerAnchor);
    demand(hashOf(routerAnchor) === recordCore.anchorHash, "a record names another anchor than it encloses");
    if (previous !== undefined) {
      const before = bodyOf(previous.routerAnchor).round;
      demand(round >= before, "rounds fall");
      if (round === before)
        demand(recordCore.anchorHash === previous.recordCore.anchorHash, "one round has two anchors");
    }
    if (routerAnchor.kind === "genesis_anchor")
      return demand(round === 0, "a genesis anchor opens a later round");
    askReanchor(routerAnchor);
    if (recordCore.anchorHash === previous?.recordCore.anchorHash) return;
    const { baseRecordHash, carriedRecordHash, previousAnchorHash } = routerAnchor.body;
    const base =
      baseRecordHash === null ? -1 : below.findIndex(({ recordHash }) => recordHash === baseRecordHash);
    demand(baseRecordHash === null || base >= 0, "a round begins at no ancestor");
    demand(
      (below[base]?.recordCore.anchorHash ?? null) === previousAnchorHash,
      "a round follows another anchor",
    );
    if (carriedRecordHash !== null)
      demand(
        below[base + 1]?.recordHash === carriedRecordHash,
        "what a round carries does not follow its base",
      );
    const opens = base + (carriedRecordHash === null ? 1 : 2);
    demand(below.length === opens, "a round does not begin right above what it stands on");
  };

  const askDurabilityAnchor = (record: HistoryRecord, below: ReadonlyArray<HistoryRecord>): void => {
    const { durabilityAnchor, recordHash, routerAnchor } = record;
    if (durabilityAnchor === null) return;
    askReanchor(durabilityAnchor);
    const { round, carriedRecordHash, baseRecordHash } = durabilityAnchor.body;
    demand(
      round > bodyOf(routerAnchor).round,
      "durability votes stand under an earlier round than the action's",
    );
    demand(
      carriedRecordHash === recordHash,
      "durability votes stand under a round that does not carry the record",
    );
    demand(
      baseRecordHash === (below.at(-1)?.recordHash ?? null),
      "a carried record does not follow its round's base",
    );
  };

  const askRecord: Auditor["askRecord"] = (record, below) => {
    const { recordCore, recordHash, actionSignatures, durabilityVotes } = record;
    const { height, previousRecordHash, authorAgentId } = recordCore.action;
    demand(height === below.length, "a record stands at another height than its own");
    demand(
      previousRecordHash === (below.at(-1)?.recordHash ?? null),
      "a record follows another than its predecessor",
    );
    demand(Record.recordHashOf(recordCore) === recordHash, "a record hash does not recompute");
    askSigners(actionSignatures, actionOf(height), "action votes");
    const authored = actionSignatures.some(({ signerAgentId }) => signerAgentId === authorAgentId);
    demand(authored, "a record is certified without its author's vote");
    askSigners(durabilityVotes, quorum, "durability votes");
    askActionAnchor(record, below);
    askDurabilityAnchor(record, below);
  };

  return { askRecord, askReanchor };
};
