// The values of a record chain: intents, anchors, actions and record cores, with the hash of each.
// Shapes only; VerifyRecord.ts says when a record is true. Implements HIS-05 to HIS-08.

import * as Schema from "effect/Schema";
import { hash } from "../encoding/Hash.ts";
import {
  ActionHash,
  AgentId,
  AnchorHash,
  ConversationId,
  MembershipHash,
  PostId,
  PostIntentHash,
  RecordHash,
  RouterInstanceId,
} from "../identity/Identifier.ts";
import * as Content from "./Content.ts";
import * as Membership from "./Membership.ts";

const natural = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));
/** A height in the chain; GENESIS is 0. */
export const Height = natural;
/** The number of a round; a conversation begins in round 0. */
export const Round = natural;

export const PostIntent = Schema.Struct({
  kind: Schema.Literal("post_intent"),
  conversationId: ConversationId.schema,
  membershipHash: MembershipHash.schema,
  authorAgentId: AgentId.schema,
  postId: PostId.schema,
  content: Content.schema,
});
export type PostIntent = typeof PostIntent.Type;

export const GenesisAnchor = Schema.Struct({
  kind: Schema.Literal("genesis_anchor"),
  conversationId: ConversationId.schema,
  membershipHash: MembershipHash.schema,
  round: Round,
  routerInstanceId: RouterInstanceId.schema,
});
export type GenesisAnchor = typeof GenesisAnchor.Type;

export const ReanchorBody = Schema.Struct({
  kind: Schema.Literal("reanchor_body"),
  conversationId: ConversationId.schema,
  membershipHash: MembershipHash.schema,
  round: Round,
  routerInstanceId: RouterInstanceId.schema,
  previousAnchorHash: Schema.NullOr(AnchorHash.schema),
  baseRecordHash: Schema.NullOr(RecordHash.schema),
  carriedRecordHash: Schema.NullOr(RecordHash.schema),
});
export type ReanchorBody = typeof ReanchorBody.Type;

/** What orders a conversation for a while: the genesis anchor of round 0, or the body of a completed re-anchor. */
export const Anchor = Schema.Union([GenesisAnchor, ReanchorBody]);
export type Anchor = typeof Anchor.Type;

const actionFields = {
  conversationId: ConversationId.schema,
  membershipHash: MembershipHash.schema,
  authorAgentId: AgentId.schema,
  postIntent: PostIntent,
  postIntentHash: PostIntentHash.schema,
};

export const GenesisAction = Schema.Struct({
  kind: Schema.Literal("genesis"),
  ...actionFields,
  height: Schema.Literal(0),
  anchor: Anchor,
  previousRecordHash: Schema.Null,
});
export type GenesisAction = typeof GenesisAction.Type;

export const PostAction = Schema.Struct({
  kind: Schema.Literal("post"),
  ...actionFields,
  height: Height.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  anchorHash: AnchorHash.schema,
  previousRecordHash: RecordHash.schema,
});
export type PostAction = typeof PostAction.Type;

export const GenesisCore = Schema.Struct({
  kind: Schema.Literal("record_core"),
  membership: Membership.schema,
  anchorHash: AnchorHash.schema,
  action: GenesisAction,
  actionHash: ActionHash.schema,
});
export type GenesisCore = typeof GenesisCore.Type;

export const PostCore = Schema.Struct({
  kind: Schema.Literal("record_core"),
  membershipHash: MembershipHash.schema,
  anchorHash: AnchorHash.schema,
  action: PostAction,
  actionHash: ActionHash.schema,
});
export type PostCore = typeof PostCore.Type;

export const RecordCore = Schema.Union([GenesisCore, PostCore]);
export type RecordCore = typeof RecordCore.Type;

export const isGenesis = (core: RecordCore): core is GenesisCore => core.action.kind === "genesis";

export const postIntentHashOf = (intent: PostIntent): PostIntentHash =>
  PostIntentHash.fromBytes(hash("post-intent", intent));
export const anchorHashOf = (anchor: Anchor): AnchorHash => AnchorHash.fromBytes(hash("anchor", anchor));
export const actionHashOf = (action: GenesisAction | PostAction): ActionHash =>
  ActionHash.fromBytes(hash("action", action));
const recordHashes = new WeakMap<RecordCore, RecordHash>();

/** Computed once for each core at hand: what arrives is asked for its hash again and again. */
export const recordHashOf = (core: RecordCore): RecordHash => {
  const recordHash = recordHashes.get(core) ?? RecordHash.fromBytes(hash("record", core));
  recordHashes.set(core, recordHash);
  return recordHash;
};

/** Builds the GENESIS core of an intent under a genesis anchor. */
export const genesisCore = (
  membership: Membership.Membership,
  intent: PostIntent,
  anchor: Anchor,
): GenesisCore => {
  const action: GenesisAction = {
    kind: "genesis",
    conversationId: intent.conversationId,
    membershipHash: intent.membershipHash,
    height: 0,
    anchor,
    previousRecordHash: null,
    authorAgentId: intent.authorAgentId,
    postIntent: intent,
    postIntentHash: postIntentHashOf(intent),
  };
  return {
    kind: "record_core",
    membership,
    anchorHash: anchorHashOf(anchor),
    action,
    actionHash: actionHashOf(action),
  };
};

/** Builds the POST core of an intent at a height above a predecessor. */
export const postCore = (
  intent: PostIntent,
  position: {
    readonly height: number;
    readonly previousRecordHash: RecordHash;
    readonly anchorHash: AnchorHash;
  },
): PostCore => {
  const action: PostAction = {
    kind: "post",
    conversationId: intent.conversationId,
    membershipHash: intent.membershipHash,
    height: position.height,
    anchorHash: position.anchorHash,
    previousRecordHash: position.previousRecordHash,
    authorAgentId: intent.authorAgentId,
    postIntent: intent,
    postIntentHash: postIntentHashOf(intent),
  };
  return {
    kind: "record_core",
    membershipHash: intent.membershipHash,
    anchorHash: position.anchorHash,
    action,
    actionHash: actionHashOf(action),
  };
};

/**
 * Whether the parts of a core name each other truthfully: intent, action and anchor hashes recompute, and every
 * repeated field is equal. Signatures, position and membership are other questions (HIS-07).
 */
export const isConsistent = (core: RecordCore): boolean => {
  const { action } = core;
  const intent = action.postIntent;
  const membershipHash = isGenesis(core) ? Membership.hashOf(core.membership) : core.membershipHash;
  const anchorHash = isGenesis(core) ? anchorHashOf(core.action.anchor) : (action as PostAction).anchorHash;
  const anchorAgrees =
    !isGenesis(core) ||
    (core.action.anchor.conversationId === action.conversationId &&
      core.action.anchor.membershipHash === action.membershipHash &&
      core.membership.conversationId === action.conversationId &&
      (core.action.anchor.kind === "reanchor_body" || core.action.anchor.round === 0));
  return (
    anchorAgrees &&
    core.anchorHash === anchorHash &&
    action.membershipHash === membershipHash &&
    intent.membershipHash === membershipHash &&
    intent.conversationId === action.conversationId &&
    intent.authorAgentId === action.authorAgentId &&
    action.postIntentHash === postIntentHashOf(intent) &&
    core.actionHash === actionHashOf(action)
  );
};
