// Records certified by hand: whoever is named signs both votes. For chains that are there from the start, and for forgers.

import { type HistoryRecord, sorted } from "@social-harness/protocol/history/Evidence";
import * as Content from "@social-harness/protocol/history/Content";
import type * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { initial } from "@social-harness/protocol/conversation/State";
import { type AgentId, PostId, type RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import { blank } from "./Disk.ts";
import type { Member, World } from "./FoldWorld.ts";

/** A conversation's membership and the Router that it begins under. */
export interface Ground {
  readonly members: Membership.Members;
  readonly routerInstanceId: RouterInstanceId;
}

export interface Signatory {
  readonly id: AgentId;
  readonly signer: Signer;
}

export const genesisAnchorOf = ({ members, routerInstanceId }: Ground): Record.GenesisAnchor => ({
  kind: "genesis_anchor",
  conversationId: members.conversationId,
  membershipHash: members.membershipHash,
  round: 0,
  routerInstanceId,
});

export const postIdOf = (label: string): PostId => PostId.fromBytes(Buffer.from(label.padEnd(32, "-")));

export const intentOf = (
  { members }: Ground,
  authorAgentId: AgentId,
  postId: PostId,
  text: string,
): Record.PostIntent => ({
  kind: "post_intent",
  conversationId: members.conversationId,
  membershipHash: members.membershipHash,
  authorAgentId,
  postId,
  content: Content.ofText(text),
});

/** A core with the signers' votes of both kinds, whether or not they make a certificate. */
export const certifiedBy = (
  signers: ReadonlyArray<Signatory>,
  core: Record.RecordCore,
  routerAnchor: Record.GenesisAnchor,
): HistoryRecord => {
  const recordHash = Record.recordHashOf(core);
  const subject = VerifyRecord.subjectOf(recordHash, core);
  const signed = (statementOf: (signer: AgentId) => Statement.Statement) =>
    sorted(
      signers.map(({ id, signer }) => ({
        signerAgentId: id,
        signature: Statement.sign(signer, statementOf(id)),
      })),
    );
  return {
    recordHash,
    recordCore: core,
    routerAnchor,
    durabilityAnchor: null,
    actionSignatures: signed((id) => VerifyRecord.actionVoteOf(subject, id)),
    durabilityVotes: signed((id) => VerifyRecord.durabilityVoteOf(subject, id)),
  };
};

/** Puts the same GENESIS, certified by all, on every disk. */
export const openConversation = (world: World, authorIndex = 0): HistoryRecord => {
  const author = world.all[authorIndex] as Member;
  const anchor = genesisAnchorOf(world);
  const intent = intentOf(world, author.id, postIdOf("genesis"), "genesis");
  const core = Record.genesisCore(world.members.membership, intent, anchor);
  const record = certifiedBy(world.all, core, anchor);
  const { anchorHash } = core;
  const { round, routerInstanceId } = anchor;
  for (const member of world.all) {
    const head = { height: 0, recordHash: record.recordHash, anchorHash };
    const accepted = { anchorHash, round, routerInstanceId, base: null, carried: null };
    const state = { ...initial, head, anchor: accepted };
    member.disk = { ...blank, state, records: [record], anchors: new Map([[anchorHash, anchor]]) };
  }
  return record;
};
