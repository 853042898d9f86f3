// Statements for a round: signing one ends every vote under a lower round; those of others count only with their proofs.
// Implements HIS-72 and HIS-73.

import * as Reanchor from "../history/Reanchor.ts";
import * as Statement from "../history/Statement.ts";
import type { AgentId } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import { askForStated } from "./Lacking.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import { horizonOf } from "./Following.ts";
import type { StatementPacket } from "./Packet.ts";
import { bestPrepared } from "./Preparation.ts";
import { headProofOf, isProven, preparedProofOf } from "./Proofs.ts";
import { hearStatement } from "./Restored.ts";
import { raise } from "./Wishes.ts";

/** Signs the statement for a round: from here on every vote under a lower round has ended. */
export const bind = (draft: Draft, round: number): boolean => {
  const { state, inputs } = draft;
  if (inputs.routerInstanceId === null) return false;
  const head = draft.headRecord();
  // What the lost memory knew to be prepared, the others know: nothing is stated for it.
  const best = state.restored === null ? bestPrepared(draft) : null;
  const statement: Statement.ReanchorStatement = {
    kind: "reanchor_statement",
    signerAgentId: inputs.self,
    conversationId: inputs.members.conversationId,
    membershipHash: inputs.members.membershipHash,
    round,
    routerInstanceId: inputs.routerInstanceId,
    head: state.head === null ? null : { recordHash: state.head.recordHash, height: state.head.height },
    prepared:
      best === null
        ? null
        : { recordHash: best.record.recordHash, height: best.record.height, round: best.round },
  };
  const own: StatementPacket = {
    kind: "statement_packet",
    statement,
    signature: Statement.sign(inputs.signer, statement),
    headProof: head === null ? null : headProofOf(draft, head),
    preparedProof: best === null ? null : preparedProofOf(draft, best.record),
  };
  state.proposal = null;
  draft.changeRounds({ bound: round, own });
  draft.multicast(own);
  return true;
};

/** Whether a statement says nothing new: its signer is known to be at its round, and a leader has kept it. */
const isKnown = (
  { state: { rounds } }: Draft,
  { statement: { signerAgentId, round } }: StatementPacket,
  leads: boolean,
): boolean => {
  const stated = rounds.stated[signerAgentId] ?? 0;
  const kept = rounds.statements.some(
    ({ statement }) => statement.signerAgentId === signerAgentId && statement.round === round,
  );
  return round < stated || (round === stated && (kept || !leads));
};

/** Whoever states the round whose anchor is accepted here, again and again, has not found one that it can accept. */
const countRestated = (draft: Draft, from: AgentId, round: number): void => {
  const { anchor, rounds } = draft.state;
  const times = (rounds.restated[from] ?? 0) + 1;
  if (round !== anchor?.round || times > Limits.restatedMax) return;
  draft.changeRounds({ restated: { ...rounds.restated, [from]: times } });
};

/** Counts with its proofs only: its signer is bound to that round, and its leader may complete it with this. */
export const takeStatement = (
  draft: Draft,
  { from, laneSequence, packet }: ReceivedOf<"statement_packet">,
): void => {
  const { inputs } = draft;
  const { rounds } = draft.state;
  const { statement, signature } = packet;
  const { round, prepared } = statement;
  const card = inputs.members.cardOf(from);
  if (from === inputs.self) return;
  if (laneSequence === null) return hearStatement(draft, { kind: "packet", from, laneSequence, packet });
  if (statement.signerAgentId !== from) {
    return draft.note("a statement is not its sender's");
  }
  const leads = Reanchor.leaderOf(inputs.members, round) === inputs.self;
  const horizon = horizonOf(draft);
  const isFar = round > horizon;
  if (isFar ? (rounds.wishes[from] ?? 0) >= horizon : round < rounds.bound) return;
  if (!isFar && isKnown(draft, packet, leads)) return countRestated(draft, from, round);
  const believed =
    statement.membershipHash === inputs.members.membershipHash &&
    card !== undefined &&
    Statement.verify(inputs.trust.verifier, card.signingKey, statement, signature);
  if (!believed) return draft.note("a statement does not verify");
  // It says of every round below it that its signer would be there, which is what a wish says.
  if (isFar) return draft.changeRounds({ wishes: raise(rounds.wishes, from, horizon) });
  if (!isProven(draft, packet)) return draft.note("a statement without its proof is passed over");
  draft.changeRounds({
    wishes: raise(rounds.wishes, from, round),
    stated: raise(rounds.stated, from, round),
  });
  if (prepared !== null) {
    const proven = Math.max(rounds.proven[prepared.recordHash] ?? -1, prepared.round);
    draft.changeRounds({ proven: { ...rounds.proven, [prepared.recordHash]: proven } });
  }
  if (!leads) return;
  const kept = rounds.statements.filter(
    (other) => other.statement.signerAgentId !== from && other.statement.round >= rounds.bound,
  );
  draft.changeRounds({ statements: [...kept, packet] });
  askForStated(draft, packet);
};
