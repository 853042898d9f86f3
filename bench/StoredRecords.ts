// A store with history in it, made without the days that it would take: certified records of two registered agents, signed
// with the keys in their own state folders and written as the endpoint writes them.

import * as ConversationRows from "@social-harness/endpoint/conversations/ConversationRows";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as AnchorRows from "@social-harness/endpoint/store/AnchorRows";
import * as Database from "@social-harness/endpoint/store/Database";
import * as RecordRows from "@social-harness/endpoint/store/RecordRows";
import * as Settings from "@social-harness/endpoint/store/Settings";
import * as Cards from "@social-harness/endpoint/transport/Cards";
import { initial } from "@social-harness/protocol/conversation/State";
import * as Content from "@social-harness/protocol/history/Content";
import { sorted } from "@social-harness/protocol/history/Evidence";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import { PostId, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type * as Lab from "../packages/cli/src/lab/Lab.ts";

interface Member {
  readonly card: AgentCard;
  readonly signer: Signer;
}

/** One direct conversation of posts by both members in turn, certified by both, put into the first member's store. */
const insert = (db: Database.Database, members: readonly [Member, Member], count: number): void => {
  const conversation = Membership.ofCards(members.map(({ card }) => card));
  const { conversationId, membershipHash, membership } = conversation;
  const routerInstanceId = RouterInstanceId.fromBytes(Buffer.alloc(16, 1));
  const routerAnchor = {
    kind: "genesis_anchor" as const,
    conversationId,
    membershipHash,
    round: 0,
    routerInstanceId,
  };
  const anchorHash = Record.anchorHashOf(routerAnchor);
  const row = ConversationRows.create(db, conversation, members[0].card.agentId);
  AnchorRows.insert(db, conversationId, anchorHash, routerAnchor);
  let head: { readonly height: number; readonly recordHash: ReturnType<typeof Record.recordHashOf> } | null =
    null;
  for (let height = 0; height < count; height++) {
    const author = members[height % 2] as Member;
    const intent: Record.PostIntent = {
      kind: "post_intent",
      conversationId,
      membershipHash,
      authorAgentId: author.card.agentId,
      postId: PostId.fromBytes(Buffer.alloc(32, `post ${height}, `)),
      content: Content.ofText(`Post ${height}, about as long as people write.`),
    };
    const core: Record.RecordCore =
      head === null
        ? Record.genesisCore(membership, intent, routerAnchor)
        : Record.postCore(intent, { height, previousRecordHash: head.recordHash, anchorHash });
    const recordHash = Record.recordHashOf(core);
    const subject = VerifyRecord.subjectOf(recordHash, core);
    const signed = (statementOf: (id: AgentCard["agentId"]) => Statement.Statement) =>
      sorted(
        members.map(({ card: { agentId }, signer }) => ({
          signerAgentId: agentId,
          signature: Statement.sign(signer, statementOf(agentId)),
        })),
      );
    RecordRows.insert(db, {
      recordHash,
      recordCore: core,
      routerAnchor,
      durabilityAnchor: null,
      actionSignatures: signed((id) => VerifyRecord.actionVoteOf(subject, id)),
      durabilityVotes: signed((id) => VerifyRecord.durabilityVoteOf(subject, id)),
    });
    head = { height, recordHash };
  }
  if (head === null) return;
  const anchor = { anchorHash, round: 0, routerInstanceId, base: null, carried: null };
  ConversationRows.save(db, { ...row, state: { ...initial, anchor, head: { ...head, anchorHash } } });
};

const openStore = ({ state }: Lab.LabAgent): Database.Database =>
  Database.open(StateFolder.at(state).database);

/** Forgets that the store was checked before, so that its next start checks every signature anew. */
export const forgetCheck = (agent: Lab.LabAgent): void => {
  const db = openStore(agent);
  db.transaction(() => Settings.put(db, "verified_sequence", 0));
  db.close();
};

const memberOf = (agent: Lab.LabAgent): Member => {
  const identity = Identity.load(StateFolder.at(agent.state));
  const db = openStore(agent);
  const card = Cards.byName(db, agent.name);
  db.close();
  if (identity === null || card === null) throw new Error(`${agent.name} is not registered`);
  return { card, signer: identity.signer };
};

/** Puts `count` certified records of a direct conversation with `peer` into the store of `agent`; both are stopped. */
export const fill = (agent: Lab.LabAgent, peer: Lab.LabAgent, count: number): void => {
  const db = openStore(agent);
  db.transaction(() => insert(db, [memberOf(agent), memberOf(peer)], count));
  db.close();
};
