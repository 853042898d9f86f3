// What an endpoint offers its host and its owner, as typed calls. The MCP catalog is a thin projection of this interface;
// Endpoint.ts composes the one implementation.

import type * as Address from "@social-harness/protocol/address/Address";
import type { Item } from "@social-harness/protocol/delivery/Item";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type {
  AgentId,
  DeliveryToken,
  EventId,
  Opaque32,
  OperationId,
  PostId,
  PrincipalId,
  RecordHash,
} from "@social-harness/protocol/identity/Identifier";
import type { EventSubscriptions } from "./EventSubscription.ts";
import type { Holds } from "./Holds.ts";

export interface RegisterInput {
  readonly operationId: OperationId;
  readonly principalId: PrincipalId;
  readonly agentName: AgentName;
  readonly admission?: string;
}
export type RegisterResult =
  | { readonly kind: "registered"; readonly agentCard: AgentCard }
  | { readonly kind: "name_taken" }
  | { readonly kind: "key_already_registered" }
  | { readonly kind: "idempotency_conflict" }
  | { readonly kind: "admission_refused" };

export type StatusResult =
  { readonly kind: "unregistered" } | { readonly kind: "active"; readonly agentCard: AgentCard };

export type SearchAgentsInput =
  | { readonly agentId: AgentId }
  | { readonly agentName: AgentName }
  | { readonly prefix?: string; readonly afterAgentName?: AgentName };
export type SearchAgentsResult =
  | { readonly kind: "found"; readonly agentCard: AgentCard }
  | { readonly kind: "not_found" }
  | { readonly kind: "page"; readonly agentCards: ReadonlyArray<AgentCard>; readonly hasMore: boolean };

export interface SearchConversationsResult {
  readonly kind: "page";
  readonly addresses: ReadonlyArray<Address.MessageAddress>;
  readonly hasMore: boolean;
}

/** `address` is whatever the caller wrote; a noncanonical spelling is the operation's `invalid-address`. */
export type ReadConversationInput =
  { readonly address: string; readonly afterRecordHash?: RecordHash } | { readonly continuation: string };
export interface ReadConversationResult {
  readonly kind: "page";
  readonly records: ReadonlyArray<HistoryRecord>;
  readonly continuation: Opaque32 | null;
}

export interface SendInput {
  /** MessageAddressInput as the sender wrote it. */
  readonly to: string;
  readonly text: string;
  readonly idempotencyKey?: string;
}
export interface SendResult {
  readonly status: "certified" | "pending";
  readonly postId: PostId;
  readonly operationId: OperationId;
}

export interface Delivery {
  readonly deliveryToken: DeliveryToken;
  readonly item: Item;
  readonly guidance?: string;
  /** The owner released it from a hold, after its turn. */
  readonly released?: true;
}
export interface InboxPage {
  readonly items: ReadonlyArray<Delivery>;
  readonly nextCursor?: string;
}

/** Rejections are `OperationError`s with a reason of the operation, or defects. */
export interface Operations extends EventSubscriptions, Holds {
  readonly isRegistered: () => boolean;
  readonly register: (input: RegisterInput) => Promise<RegisterResult>;
  readonly status: () => StatusResult;
  readonly searchAgents: (input: SearchAgentsInput) => Promise<SearchAgentsResult>;
  readonly searchConversations: (input: { readonly afterAddress?: string }) => SearchConversationsResult;
  /** Rejects with the reason of `gone` once that is aborted. */
  readonly readConversation: (
    input: ReadConversationInput,
    gone?: AbortSignal,
  ) => Promise<ReadConversationResult>;
  readonly sendMessage: (input: SendInput) => Promise<SendResult>;
  readonly readInbox: (input: { readonly cursor?: string }) => InboxPage;
  readonly acknowledgeDelivery: (token: DeliveryToken) => Promise<void>;
  readonly readEvent: (eventId: EventId) => Omit<Delivery, "deliveryToken">;
  /** Unacknowledged items right now. */
  readonly pendingCount: () => number;
  /** Calls `listener` after commits that raised the count. Returns the function that ends it. */
  readonly onPending: (listener: () => void) => () => void;
  /** Calls `listener` when activation of a registration changed the tool catalog. */
  readonly onCatalogChanged: (listener: () => void) => () => void;
}
