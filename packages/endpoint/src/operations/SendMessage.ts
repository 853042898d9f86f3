// send_message: one post to one agent or one group, persisted before anything else happens and answered when it is
// certified or after the wait. With an idempotency key, retries are the first call. Implements OPS-01 to OPS-33.

import * as Address from "@social-harness/protocol/address/Address";
import { hash } from "@social-harness/protocol/encoding/Hash";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Content from "@social-harness/protocol/history/Content";
import * as Membership from "@social-harness/protocol/history/Membership";
import type * as Record from "@social-harness/protocol/history/Record";
import type * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { type AgentId, OperationId, PostId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import type { RegistryClient } from "@social-harness/registry/client/RegistryClient";
import type { ActiveAgent } from "../conversations/ActiveAgent.ts";
import * as ConversationRows from "../conversations/ConversationRows.ts";
import type { EndedIntent, Turn } from "../conversations/Conversations.ts";
import type { Database } from "../store/Database.ts";
import * as Cards from "../transport/Cards.ts";
import { EndedPostError } from "./EndedPost.ts";
import { withReasons } from "./Failing.ts";
import { OperationError } from "./OperationError.ts";
import type { SendInput, SendResult } from "./Operations.ts";

export interface SendMessageOptions {
  readonly db: Database;
  readonly agent: ActiveAgent;
  readonly registry: RegistryClient;
  readonly random: (byteCount: number) => Uint8Array;
  /** How long a call waits for the end of its post before it answers `pending`. */
  readonly waitMs?: number;
}

interface Persisted {
  readonly postId: PostId;
  readonly operationId: OperationId;
  readonly outcome: EndedIntent["outcome"] | null;
}

type Destination = Exclude<ReturnType<typeof Address.resolveInput>, string>;

export const sendMessage = (options: SendMessageOptions, input: SendInput): Promise<SendResult> =>
  withReasons(async () => {
    const destination = destinationOf(input.to, options.agent.card.agentName);
    const content = contentOf(input.text);
    const digest = hash("send-input", { to: destination.address, content });
    const known =
      input.idempotencyKey === undefined ? null : findFirst(options.db, input.idempotencyKey, digest);
    const persisted = known ?? (await persist(options, input, destination, content, digest));
    return settle(options, persisted);
  });

const destinationOf = (to: string, self: AgentName): Destination => {
  const resolved = Address.resolveInput(to, self);
  if (typeof resolved !== "string") return resolved;
  switch (resolved) {
    case "invalid-address":
      throw new OperationError(
        "invalid-address",
        "the destination is not agent:<name> or group:<name>,<name>,...",
      );
    case "membership-invalid":
      throw new OperationError(
        "membership-invalid",
        "a destination names other agents than this one, each once, and a group has 3 to 32 members",
      );
  }
};

/** The content of a text post. Throws `content-invalid` for text that no record can carry. */
export const contentOf = (text: string): Content.Content => {
  const content = Content.ofText(text);
  try {
    if (CanonicalJson.byteLength(content) <= Limits.contentBytesMax) return content;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new OperationError("content-invalid", "the text holds a lone surrogate", { cause: error });
  }
  throw new OperationError(
    "content-invalid",
    `the content is larger than ${Limits.contentBytesMax} canonical bytes`,
  );
};

/** The first call under a key: null when there is none, a conflict when its input was another. */
const findFirst = (db: Database, key: string, digest: Buffer): Persisted | null => {
  const row = db.get(
    `SELECT input_digest, post_id, operation_id, outcome
     FROM idempotency JOIN intent USING (post_id) WHERE idempotency_key = ?`,
    key,
  );
  if (row === undefined) return null;
  if (Buffer.compare(row["input_digest"] as Uint8Array, digest) !== 0) {
    throw new OperationError("idempotency-conflict", "the idempotency key was used for another input");
  }
  return {
    postId: row["post_id"] as PostId,
    operationId: row["operation_id"] as OperationId,
    outcome: row["outcome"] as EndedIntent["outcome"] | null,
  };
};

const persist = async (
  options: SendMessageOptions,
  input: SendInput,
  destination: Destination,
  content: Content.Content,
  digest: Buffer,
): Promise<Persisted> => {
  const known = ConversationRows.idOfAddress(options.db, destination.address);
  const cards = known === null ? await cardsOf(options, destination.names) : [];
  return options.agent.turns.run((turn) => {
    const first =
      input.idempotencyKey === undefined ? null : findFirst(turn.db, input.idempotencyKey, digest);
    if (first !== null) return first;
    const { members } = conversationOf(options.agent, turn, destination.address, cards);
    const postId = PostId.fromBytes(options.random(32));
    const operationId = OperationId.fromBytes(options.random(16));
    const intent: Record.PostIntent = {
      kind: "post_intent",
      conversationId: members.conversationId,
      membershipHash: members.membershipHash,
      authorAgentId: options.agent.card.agentId,
      postId,
      content,
    };
    ConversationRows.keepIntent(turn.db, intent, operationId, turn.now);
    if (input.idempotencyKey !== undefined) {
      turn.db.run(
        "INSERT INTO idempotency (idempotency_key, input_digest, post_id) VALUES (?, ?, ?)",
        input.idempotencyKey,
        digest,
        postId,
      );
    }
    options.agent.conversations.feed(turn, members.conversationId, { kind: "submitted" });
    return { postId, operationId, outcome: null };
  });
};

/** The conversation at an address, made from verified cards when this is the first word to these agents. */
const conversationOf = (
  agent: ActiveAgent,
  turn: Turn,
  address: Address.MessageAddress,
  cards: ReadonlyArray<AgentCard.AgentCard>,
): ConversationRows.Conversation => {
  const id = ConversationRows.idOfAddress(turn.db, address);
  const known = id === null ? null : agent.conversations.get(turn, id);
  if (known !== null) return known;
  for (const card of cards) Cards.keep(turn.db, card);
  return agent.conversations.create(turn, Membership.ofCards(cards));
};

const cardsOf = (
  { db, registry }: SendMessageOptions,
  names: ReadonlyArray<AgentName>,
): Promise<ReadonlyArray<AgentCard.AgentCard>> =>
  Promise.all(
    names.map(async (name) => {
      const card = Cards.byName(db, name) ?? (await registry.lookupByName(name));
      if (card === null) throw new OperationError("unknown-agent", `no agent is registered as ${name}`);
      return card;
    }),
  );

/** Waits for the end of a persisted post and answers. The caller's own cancellation changes nothing here. */
const settle = async (
  { db, agent, waitMs = Limits.sendWaitMs }: SendMessageOptions,
  { postId, operationId, outcome }: Persisted,
): Promise<SendResult> => {
  const ended = outcome ?? (await agent.waitFor(postId, waitMs));
  switch (ended) {
    case null:
      return { status: "pending", postId, operationId };
    case "certified":
      return { status: "certified", postId, operationId };
    case "outcome-unknown":
    case "refused":
    case "withdrawn":
      throw new EndedPostError({ postId, reason: ended, refusedBy: refuserOf(db, postId) });
  }
};

const refuserOf = (db: Database, postId: PostId): AgentName | null => {
  const refuser = db.get("SELECT refused_by FROM intent WHERE post_id = ?", postId)?.["refused_by"];
  return typeof refuser === "string" ? (Cards.byId(db, refuser as AgentId)?.agentName ?? null) : null;
};
