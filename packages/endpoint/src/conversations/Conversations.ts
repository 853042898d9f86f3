// Runs the fold for every conversation of this endpoint inside turns: loads states, feeds events, writes what a
// transition asks for, and gathers what is to be sent. Changed states live in the turn until its commit.
// Knows the fold's commands, not its rules.

import type { Command } from "@social-harness/protocol/conversation/Command";
import type { Event } from "@social-harness/protocol/conversation/Event";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import { nextWake } from "@social-harness/protocol/conversation/State";
import { transition } from "@social-harness/protocol/conversation/Transition";
import type * as Membership from "@social-harness/protocol/history/Membership";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import type {
  AgentId,
  ConversationId,
  PostId,
  RouterInstanceId,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { Logger } from "@social-harness/router/Logger";
import { isStoreFailure } from "../store/Database.ts";
import type * as Turns from "../store/Turns.ts";
import * as CommandRows from "./CommandRows.ts";
import { activeIds, type Conversation, create, load, readsOf, save } from "./ConversationRows.ts";

/** Packets that a turn sends: in the conversation's lane, or to one member. */
export interface Send {
  readonly conversationId: ConversationId;
  readonly to: "lane" | AgentId;
  readonly packet: Packet;
}

export interface EndedIntent {
  readonly postId: PostId;
  readonly outcome: Extract<Command, { kind: "intent-ended" }>["outcome"];
}

/** What the fold remarked about a conversation, and how often. */
export interface Remark {
  readonly conversationId: ConversationId;
  readonly note: string;
  readonly times: number;
}

/** The working state of one turn. */
export interface Work {
  readonly changed: ReadonlyMap<ConversationId, Conversation>;
  readonly sends: ReadonlyArray<Send>;
  readonly ended: ReadonlyArray<EndedIntent>;
  readonly commits: number;
  /** By conversation and note: one member's envelope can draw thousands of equal ones, and the log takes each once. */
  readonly remarks: ReadonlyMap<string, Remark>;
}

export const emptyWork: Work = { changed: new Map(), sends: [], ended: [], commits: 0, remarks: new Map() };

/** How the endpoint stands with its Router, as far as the fold must know. */
export interface Connection {
  readonly routerInstanceId: RouterInstanceId | null;
  readonly folded: boolean;
}

export type Turn = Turns.Turn<Work>;

export interface ConversationsOptions {
  readonly self: AgentId;
  readonly signer: Signer;
  readonly trust: Trust;
  readonly logger: Logger;
  readonly connection: () => Connection;
  /** Whether the owner's contact policy lets an agent open a conversation with this one. */
  readonly admits: (author: AgentId) => boolean;
}

export interface Conversations {
  readonly get: (turn: Turn, conversationId: ConversationId) => Conversation | null;
  /** `openedBy` is the agent whose word it is made on; this one unless told otherwise. */
  readonly create: (turn: Turn, members: Membership.Members, openedBy?: AgentId) => Conversation;
  /** Runs one event through the fold of a conversation that exists. */
  readonly feed: (turn: Turn, conversationId: ConversationId, event: Event) => void;
  /** Runs one event through each of them alone: a defect in one stops none of the others. Throws for the store only. */
  readonly feedEach: (turn: Turn, conversationIds: ReadonlyArray<ConversationId>, event: Event) => void;
  /** Conversations with open work, those included that this turn has given some. */
  readonly active: (turn: Turn) => ReadonlyArray<ConversationId>;
  /** Writes the changed states; call once before the commit. */
  readonly flush: (turn: Turn) => void;
  /** Makes the committed states the current ones. */
  readonly publish: (work: Work) => void;
  /** When the earliest timer of any conversation is due, and for which conversations it is due by `now`. */
  readonly nextWake: () => number | null;
  readonly due: (now: number) => ReadonlyArray<ConversationId>;
}

/** A conversation whose timer met a defect is left alone for this long. */
const defectPauseMs = 60_000;

/** Loaded conversations without a timer that are kept at hand; the others are read again when needed. */
const idleKeptMax = 512;

export const createConversations = (options: ConversationsOptions): Conversations => {
  const { self, signer, trust, logger } = options;
  const current = new Map<ConversationId, Conversation>();
  const wakes = new Map<ConversationId, number>();

  const get = (turn: Turn, conversationId: ConversationId): Conversation | null => {
    const known = turn.state.changed.get(conversationId) ?? current.get(conversationId);
    if (known !== undefined) return known;
    const loaded = load(turn.db, trust, conversationId);
    if (loaded !== null) current.set(conversationId, loaded);
    return loaded;
  };

  const change = (turn: Turn, conversation: Conversation, more: Partial<Work> = {}): void => {
    const changed = new Map(turn.state.changed).set(conversation.members.conversationId, conversation);
    turn.state = { ...turn.state, ...more, changed };
  };

  const feed = (turn: Turn, conversationId: ConversationId, event: Event): void => {
    const conversation = get(turn, conversationId);
    if (conversation === null) throw new Error("an event for a conversation that does not exist");
    const { state, commands } = transition(conversation.state, event, {
      now: turn.now,
      self,
      members: conversation.members,
      signer,
      trust,
      ...options.connection(),
      admits: options.admits,
      reads: readsOf(turn.db, conversationId),
    });
    const sends = [...turn.state.sends];
    const ended = [...turn.state.ended];
    let { commits, remarks } = turn.state;
    for (const command of commands) {
      CommandRows.write(turn.db, conversationId, self, command);
      if (command.kind === "multicast") sends.push({ conversationId, to: "lane", packet: command.packet });
      if (command.kind === "unicast") sends.push({ conversationId, to: command.to, packet: command.packet });
      if (command.kind === "intent-ended") ended.push(command);
      if (command.kind === "commit") commits++;
      if (command.kind === "note") remarks = withRemark(remarks, conversationId, command.message);
    }
    change(turn, { ...conversation, state }, { sends, ended, commits, remarks });
  };

  return {
    get,
    create: (turn, members, openedBy = self) => {
      const conversation = create(turn.db, members, self, openedBy);
      change(turn, conversation);
      return conversation;
    },
    feed,
    feedEach: (turn, conversationIds, event) => {
      for (const conversationId of conversationIds) {
        const before = turn.state;
        try {
          turn.db.transaction(() => feed(turn, conversationId, event));
        } catch (error) {
          turn.state = before;
          if (isStoreFailure(error)) throw error;
          wakes.set(conversationId, turn.now + defectPauseMs);
          logger("error", "a conversation met a defect and is passed over", {
            conversation: conversationId,
            event: event.kind,
            error: String(error),
          });
        }
      }
    },
    active: (turn) => [...new Set([...activeIds(turn.db), ...turn.state.changed.keys()])],
    flush: (turn) => {
      for (const conversation of turn.state.changed.values()) save(turn.db, conversation);
    },
    publish: (work) => {
      for (const { conversationId, note, times } of work.remarks.values()) {
        logger("warn", "conversation note", { conversation: conversationId, note, times });
      }
      for (const [conversationId, conversation] of work.changed) {
        current.delete(conversationId);
        current.set(conversationId, conversation);
        const wake = nextWake(conversation.state);
        if (wake === null) wakes.delete(conversationId);
        else wakes.set(conversationId, wake);
      }
      for (const conversationId of current.keys()) {
        if (current.size <= idleKeptMax) break;
        if (!wakes.has(conversationId)) current.delete(conversationId);
      }
    },
    nextWake: () => {
      let earliest: number | null = null;
      for (const at of wakes.values()) if (earliest === null || at < earliest) earliest = at;
      return earliest;
    },
    due: (now) => [...wakes].filter(([, at]) => at <= now).map(([conversationId]) => conversationId),
  };
};

const withRemark = (
  remarks: Work["remarks"],
  conversationId: ConversationId,
  note: string,
): Work["remarks"] => {
  const key = `${conversationId} ${note}`;
  const times = (remarks.get(key)?.times ?? 0) + 1;
  return new Map(remarks).set(key, { conversationId, note, times });
};
