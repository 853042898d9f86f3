// What the owner alone may ask of an endpoint beside how it stands: what its Router was caught at, a new round for a
// conversation, that an own post come to nothing, whether what it sends arrives, how its webhook is doing, and what it has counted.
// Served on the loopback port under the owner's token; no tool reaches it. Implements HIS-137, MGT-17, MGT-18 and RUN-190.

import type * as Address from "@social-harness/protocol/address/Address";
import type { OpenRecord, State } from "@social-harness/protocol/conversation/State";
import { reached } from "@social-harness/protocol/conversation/State";
import { faultsOf } from "@social-harness/protocol/history/Quorum";
import * as Void from "@social-harness/protocol/history/Void";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { ConversationId, PostId } from "@social-harness/protocol/identity/Identifier";
import type { ActiveAgent } from "../conversations/ActiveAgent.ts";
import * as ConversationRows from "../conversations/ConversationRows.ts";
import type { EndedIntent } from "../conversations/Conversations.ts";
import type { Database } from "../store/Database.ts";
import type { Trip } from "../transport/Canary.ts";
import * as Equivocations from "../transport/Equivocations.ts";
import * as RouterTerms from "../transport/RouterTerms.ts";
import type { EventDiagnostics } from "./EventSubscription.ts";

/** Two orders that the Router signed for one place, whole: whoever has its key can check them. */
export interface ShownEquivocation {
  readonly routerInstanceId: string;
  readonly lane: string;
  readonly sequence: number;
  /** The conversation of that lane, where it is one. */
  readonly address: Address.MessageAddress | null;
  readonly heads: ReadonlyArray<{ readonly laneHead: string; readonly signature: string }>;
}

/** A log of the Router that ended for this endpoint. */
export interface ShownTerm extends Pick<RouterTerms.FormerTerm, "routerInstanceId" | "cursor" | "tail"> {
  readonly reason: RouterTerms.Ending;
  readonly endedAt: string;
  readonly explanation: string;
}

export interface Evidence {
  /** At most `shownMax`; the count in the standing is complete. */
  readonly equivocations: ReadonlyArray<ShownEquivocation>;
  /** The oldest first. */
  readonly formerRouters: ReadonlyArray<ShownTerm>;
}

export type RoundInput =
  { readonly address: Address.MessageAddress } | { readonly conversationId: ConversationId };

export type RoundResult =
  | {
      readonly kind: "wished";
      readonly conversationId: ConversationId;
      readonly address: Address.MessageAddress;
      /** The round in which the conversation stands here. */
      readonly currentRound: number;
      /** The round that this member now wishes for, or is bound to. */
      readonly round: number;
      /** It wished for that round, or was bound to it, before. */
      readonly again: boolean;
      /** With so many wishing the others join, and with so many, joined or not, the round begins. */
      readonly wishesToJoin: number;
      readonly wishesNeeded: number;
      /** False when the wish is kept until there is a connection. */
      readonly said: boolean;
    }
  | { readonly kind: "unknown-conversation" };

export interface WithdrawInput {
  readonly postId: PostId;
}

interface WithdrawnPost extends WithdrawInput {
  readonly address: Address.MessageAddress;
}

export type WithdrawResult =
  /** It ended so, now or before: it was delivered to nobody and never will be. */
  | ({ readonly kind: "withdrawn" } & WithdrawnPost)
  /**
   * It was proposed, so the members decide. `said` is false when they are asked once there is a connection; `refusable` when
   * so many have agreed to it that the others cannot end it: then it waits for its own certificate or that of another post.
   */
  | ({ readonly kind: "asked"; readonly said: boolean; readonly refusable: boolean } & WithdrawnPost)
  /** Its conversation has forgotten what became of it: it ends by itself once that has recovered. */
  | ({ readonly kind: "recovering" } & WithdrawnPost)
  /** It ended otherwise before. */
  | ({
      readonly kind: "ended";
      readonly outcome: Exclude<EndedIntent["outcome"], "withdrawn">;
    } & WithdrawnPost)
  | { readonly kind: "unknown-post" };

/** Whom a question goes to that changes nothing; this agent itself where nobody is named. */
export interface ProbeInput {
  readonly agentName?: AgentName;
}

export interface Owner extends EventDiagnostics {
  readonly evidence: () => Evidence;
  readonly wishRound: (input: RoundInput) => Promise<RoundResult>;
  readonly withdraw: (input: WithdrawInput) => Promise<WithdrawResult>;
  /** A page in the Prometheus text format. Throws when the store cannot be read. */
  readonly metrics: () => string;
  readonly probe: (input: ProbeInput) => Promise<Trip>;
}

/** As many as a person looks through, and an answer of a bounded size. */
const shownMax = 256;

const shown = (term: RouterTerms.FormerTerm): ShownTerm => ({
  routerInstanceId: term.routerInstanceId,
  reason: term.ending,
  endedAt: new Date(term.endedAt).toISOString(),
  cursor: term.cursor,
  tail: term.tail,
  explanation: RouterTerms.explain(term.ending),
});

const addressOf = (db: Database, lane: string): Address.MessageAddress | null => {
  const row = db.get("SELECT address FROM conversation WHERE lane = ?", lane);
  return row === undefined ? null : (row["address"] as Address.MessageAddress);
};

export const evidence = (db: Database): Evidence => ({
  equivocations: Equivocations.all(db, shownMax).map(([own, other]) => ({
    routerInstanceId: own.routerInstanceId,
    lane: own.lane,
    sequence: own.sequence,
    address: addressOf(db, own.lane),
    heads: [own, other].map(({ laneHead, signature }) => ({ laneHead, signature })),
  })),
  formerRouters: RouterTerms.formerTerms(db).map(shown),
});

const idOf = (db: Database, input: RoundInput): ConversationId | null => {
  if ("address" in input) return ConversationRows.idOfAddress(db, input.address);
  return ConversationRows.rowOf(db, input.conversationId) === undefined ? null : input.conversationId;
};

const known = (conversation: ConversationRows.Conversation | null): ConversationRows.Conversation => {
  if (conversation === null) throw new Error("a conversation that has a row is gone");
  return conversation;
};

export const wishRound = (
  { turns, conversations, link }: ActiveAgent,
  input: RoundInput,
): Promise<RoundResult> =>
  turns.run((turn): RoundResult => {
    const conversationId = idOf(turn.db, input);
    if (conversationId === null) return { kind: "unknown-conversation" };
    const before = known(conversations.get(turn, conversationId)).state.rounds;
    conversations.feed(turn, conversationId, { kind: "wish-round" });
    const { address, members, state } = known(conversations.get(turn, conversationId));
    return {
      kind: "wished",
      conversationId,
      address,
      currentRound: state.anchor?.round ?? 0,
      round: reached(state.rounds),
      again: reached(before) === reached(state.rounds),
      wishesToJoin: faultsOf(members.n) + 1,
      wishesNeeded: members.quorum,
      said: link.connection().folded,
    };
  });

interface OwnPost {
  readonly conversationId: ConversationId;
  readonly address: Address.MessageAddress;
  readonly outcome: EndedIntent["outcome"] | null;
}

const ownPost = (db: Database, postId: PostId): OwnPost | null => {
  const row = db.get(
    `SELECT conversation_id, address, outcome
     FROM intent JOIN conversation USING (conversation_id) WHERE post_id = ?`,
    postId,
  );
  if (row === undefined) return null;
  return {
    conversationId: row["conversation_id"] as ConversationId,
    address: row["address"] as Address.MessageAddress,
    outcome: row["outcome"] as OwnPost["outcome"],
  };
};

/** Whether as many as are needed to prove each proposal of a post void have not voted for it, as far as is known here. */
const isRefusable = ({ open }: State, n: number, postId: PostId): boolean => {
  const proposals = open.filter((record) => record.postId === postId);
  const canBeVoid = ({ action, height }: OpenRecord): boolean =>
    n - Object.keys(action).length >= Void.refusalsNeeded(n, height);
  return proposals.length > 0 && proposals.every(canBeVoid);
};

/** While nothing may be signed the wish is kept all the same, and what nobody has seen ends without any signature. */
export const withdraw = (
  { turns, conversations, link }: ActiveAgent,
  { postId }: WithdrawInput,
): Promise<WithdrawResult> =>
  turns.run((turn): WithdrawResult => {
    const post = ownPost(turn.db, postId);
    if (post === null) return { kind: "unknown-post" };
    const { conversationId, address } = post;
    if (post.outcome === null) conversations.feed(turn, conversationId, { kind: "withdraw", postId });
    const outcome = ownPost(turn.db, postId)?.outcome ?? null;
    switch (outcome) {
      case null: {
        const { state, members } = known(conversations.get(turn, conversationId));
        if (!state.withdrawing.some((withdrawn) => withdrawn.postId === postId))
          return { kind: "recovering", postId, address };
        const refusable = isRefusable(state, members.n, postId);
        return { kind: "asked", postId, address, said: link.connection().folded, refusable };
      }
      case "withdrawn":
        return { kind: "withdrawn", postId, address };
      case "certified":
      case "refused":
      case "outcome-unknown":
        return { kind: "ended", postId, address, outcome };
    }
  });
