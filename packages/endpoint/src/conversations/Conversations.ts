// Runs the fold for every conversation of this endpoint inside turns: loads states, feeds events, writes what a
// transition asks for, and gathers what is to be sent. Changed states live in the turn until its commit.
// Knows the fold's commands, not its rules.

import type { MessageAddress } from "@social-harness/protocol/address/Address";
import type { Command } from "@social-harness/protocol/conversation/Command";
import type { Event } from "@social-harness/protocol/conversation/Event";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import type { Restored } from "@social-harness/protocol/conversation/Restoration";
import { initial, nextWake, type State } from "@social-harness/protocol/conversation/State";
import { transition } from "@social-harness/protocol/conversation/Transition";
import type * as Membership from "@social-harness/protocol/history/Membership";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type {
  AgentId,
  ConversationId,
  Opaque32,
  PostId,
  RouterInstanceId,
} from "@social-harness/protocol/identity/Identifier";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { Logger } from "@social-harness/router/Logger";
import { isStoreFailure } from "../store/Database.ts";
import type * as Turns from "../store/Turns.ts";
import * as AtHand from "./AtHand.ts";
import * as CommandRows from "./CommandRows.ts";
import { activeIds, type Conversation, create, load, readsOf, save } from "./ConversationRows.ts";
import * as LostMemory from "./LostMemory.ts";

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

/** Whom a question about a conversation goes to that is not here, and its lane: see `Conversations.ask`. */
export interface Asked extends Pick<Conversation, "lane"> {
  readonly members: Pick<Membership.Members, "cards">;
}

/** What the fold remarked about a conversation, and how often. */
export interface Remark {
  readonly conversationId: ConversationId;
  readonly note: string;
  readonly times: number;
}

/** A first contact that the owner's contact policy turned away. */
export interface TurnedAway {
  readonly conversationId: ConversationId;
  readonly address: MessageAddress;
  /** Who opened it. */
  readonly agent: AgentName | AgentId;
}

/** The working state of one turn. */
export interface Work {
  readonly changed: ReadonlyMap<ConversationId, Conversation>;
  readonly sends: ReadonlyArray<Send>;
  /** Conversations among them that are not here. */
  readonly asked: ReadonlyMap<ConversationId, Asked>;
  readonly ended: ReadonlyArray<EndedIntent>;
  readonly commits: number;
  /** The store was found to be an old copy: conversations are to be told. */
  readonly lostMemory: boolean;
  /** By conversation and note: one member's envelope can draw thousands of equal ones, and the log takes each once. */
  readonly remarks: ReadonlyMap<string, Remark>;
  readonly turnedAway: ReadonlyArray<TurnedAway>;
  /** For the next turns to have at hand. */
  readonly met: ReadonlyArray<AtHand.Met>;
}

export const emptyWork: Work = {
  changed: new Map(),
  sends: [],
  asked: new Map(),
  ended: [],
  commits: 0,
  lostMemory: false,
  remarks: new Map(),
  turnedAway: [],
  met: [],
};

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
  /** The store is older than what this agent signed: every conversation is told before it signs anything again. */
  readonly loseMemory: (turn: Turn) => void;
  /** Takes up a conversation that is not here and that this agent is shown to have voted in. */
  readonly takeUp: (turn: Turn, members: Membership.Members, shownBy: AgentId) => void;
  /** A member speaks of a conversation that is not here: it is asked to show how that began. */
  readonly ask: (turn: Turn, conversationId: ConversationId, member: AgentCard, lane: Opaque32) => void;
  /** Tells some of them, from after one of them on; returns the last of these, or null when none was left. */
  readonly tellSome: (turn: Turn, after: ConversationId | null) => ConversationId | null;
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

/** Conversations that are told of the lost memory in one turn: each signs and seals its questions. */
const toldPerTurn = 32;

/** Loaded conversations without a timer that are kept at hand; the others are read again when needed. */
const idleKeptMax = 512;

export const createConversations = (options: ConversationsOptions): Conversations => {
  const { self, signer, trust, logger } = options;
  const current = new Map<ConversationId, Conversation>();
  const wakes = new Map<ConversationId, number>();
  const atHand = AtHand.createAtHand();

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

  const known = (turn: Turn, conversationId: ConversationId): Conversation => {
    const conversation = get(turn, conversationId);
    if (conversation === null) throw new Error("an event for a conversation that does not exist");
    return conversation;
  };

  const loseMemory = (turn: Turn): void => {
    logger(
      "warn",
      "the store is older than what this agent signed; conversations recover from their members",
    );
    LostMemory.note(turn.db, turn.now);
    turn.state = { ...turn.state, lostMemory: true };
  };

  /** What is said from this moment on is said for the first time, so the loss lies before it. */
  const tell = (turn: Turn, conversationId: ConversationId): void => {
    LostMemory.told(turn.db, conversationId);
    step(turn, conversationId, { kind: "restored" }, turn.now - 1);
  };

  /**
   * A conversation of which nothing is known here but that it may have been forgotten turns out to be new: it begins as if it
   * had just been made.
   */
  const begin = (turn: Turn, conversation: Conversation): void => {
    change(turn, { ...conversation, state: initial });
    step(turn, conversation.members.conversationId, { kind: "submitted" }, turn.now);
  };

  const feed = (turn: Turn, conversationId: ConversationId, event: Event): void => {
    if (LostMemory.isUntold(turn.db, conversationId)) tell(turn, conversationId);
    if (event.kind === "packet" && event.laneSequence !== null) {
      const conversation = known(turn, conversationId);
      const isNew =
        isBare(conversation.state) &&
        isOfBeginning(event) &&
        LostMemory.beganSince(turn.db, conversation.lane);
      if (isNew) begin(turn, conversation);
      if (event.from === self && event.packet.kind === "catch_up_request") return;
    }
    step(turn, conversationId, event, turn.now);
  };

  const step = (turn: Turn, conversationId: ConversationId, event: Event, now: number): void => {
    const conversation = known(turn, conversationId);
    const keptOut = new Set<AgentId>();
    const met: Array<AtHand.Met> = [];
    const { state, commands } = transition(conversation.state, event, {
      now,
      self,
      members: conversation.members,
      signer,
      trust,
      ...options.connection(),
      admits: (author) => {
        const isAdmitted = options.admits(author);
        if (!isAdmitted) keptOut.add(author);
        return isAdmitted;
      },
      reads: atHand.reading(readsOf(turn.db, conversationId), met),
    });
    const sends = [...turn.state.sends];
    const ended = [...turn.state.ended];
    let { commits, remarks } = turn.state;
    const isAsking = isBare(state);
    let asked: Packet | null = null;
    for (const command of commands) {
      CommandRows.write(turn.db, conversationId, self, command);
      met.push(...AtHand.metBy(command));
      if (command.kind === "multicast") sends.push({ conversationId, to: "lane", packet: command.packet });
      if (command.kind === "unicast") {
        if (isAsking && command.packet.kind === "catch_up_request") asked = command.packet;
        else sends.push({ conversationId, to: command.to, packet: command.packet });
      }
      if (command.kind === "intent-ended") ended.push(command);
      if (command.kind === "commit") commits++;
      if (command.kind === "note") remarks = withRemark(remarks, conversationId, command.message);
    }
    // Asked in the lane: the place that the Router gives the question tells whether anything was ever said there.
    if (asked !== null) sends.push({ conversationId, to: "lane", packet: asked });
    const turnedAway = [...turn.state.turnedAway];
    // Asked about again, as where the vote for it is on disk, an author is not refused again.
    if (commands.some((command) => isOwnPolicy(command, self))) {
      for (const author of keptOut) {
        const agent = conversation.members.cardOf(author)?.agentName ?? author;
        turnedAway.push({ conversationId, address: conversation.address, agent });
      }
    }
    const more = { sends, ended, commits, remarks, turnedAway, met: [...turn.state.met, ...met] };
    change(turn, { ...conversation, state }, more);
    if (state.restored === null && conversation.state.restored !== null)
      LostMemory.recovered(turn.db, turn.now);
    const isFound = state.restored !== null && conversation.state.restored === null;
    if (event.kind === "restored" || !isFound) return;
    const notedAt = LostMemory.notedAt(turn.db);
    if (notedAt !== null && conversation.state.recovered === null && LostMemory.covers(turn.db)) {
      // It came up since that loss and was forgotten with all others; what it has said since then it remembers.
      const restored = { ...(state.restored as Restored), at: notedAt };
      return change(turn, { ...conversation, state: { ...state, restored } });
    }
    // A vote that one conversation has forgotten shows that the whole store is old.
    loseMemory(turn);
    LostMemory.told(turn.db, conversationId);
  };

  /** Runs `work` for each of them alone: a defect in one stops none of the others. */
  const each = (
    turn: Turn,
    conversationIds: ReadonlyArray<ConversationId>,
    what: string,
    work: (conversationId: ConversationId) => void,
  ): void => {
    for (const conversationId of conversationIds) {
      const before = turn.state;
      try {
        turn.db.transaction(() => work(conversationId));
      } catch (error) {
        turn.state = before;
        if (isStoreFailure(error)) throw error;
        wakes.set(conversationId, turn.now + defectPauseMs);
        logger("error", "a conversation met a defect and is passed over", {
          conversation: conversationId,
          event: what,
          error: String(error),
        });
      }
    }
  };

  const createNow = (turn: Turn, members: Membership.Members, openedBy = self): Conversation => {
    const conversation = create(turn.db, members, self, openedBy);
    change(turn, conversation);
    const mayBeForgotten =
      LostMemory.notedAt(turn.db) !== null && !LostMemory.beganSince(turn.db, conversation.lane);
    if (mayBeForgotten) LostMemory.suspect(turn.db, members.conversationId);
    return conversation;
  };

  return {
    get,
    create: createNow,
    feed,
    feedEach: (turn, conversationIds, event) =>
      each(turn, conversationIds, event.kind, (conversationId) => feed(turn, conversationId, event)),
    loseMemory,
    takeUp: (turn, members, shownBy) => {
      if (!LostMemory.covers(turn.db)) loseMemory(turn);
      createNow(turn, members, shownBy);
      LostMemory.suspect(turn.db, members.conversationId);
    },
    ask: (turn, conversationId, member, lane) => {
      const packet = {
        kind: "catch_up_request" as const,
        conversationId,
        knownRecordHash: null,
        knownAnchorHash: null,
      };
      const { cards } = turn.state.asked.get(conversationId)?.members ?? { cards: [] };
      const members = { cards: [...cards.filter(({ agentId }) => agentId !== member.agentId), member] };
      const asked = new Map(turn.state.asked).set(conversationId, { lane, members });
      const sends = [...turn.state.sends, { conversationId, to: member.agentId, packet }];
      turn.state = { ...turn.state, sends, asked };
    },
    tellSome: (turn, after) => {
      const ids = LostMemory.untoldIds(turn.db, after, toldPerTurn);
      each(turn, ids, "restored", (conversationId) => tell(turn, conversationId));
      return ids.at(-1) ?? null;
    },
    active: (turn) => [...new Set([...activeIds(turn.db), ...turn.state.changed.keys()])],
    flush: (turn) => {
      for (const conversation of turn.state.changed.values()) save(turn.db, conversation);
    },
    publish: (work) => {
      for (const { conversationId, note, times } of work.remarks.values()) {
        logger("warn", "conversation note", { conversation: conversationId, note, times });
      }
      for (const { conversationId, address, agent } of work.turnedAway) {
        logger("info", "a first contact was refused by the contact policy", {
          agent,
          address,
          conversation: conversationId,
        });
      }
      atHand.keep(work.met);
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

/** A conversation of which nothing is known but that it may have been forgotten: nothing is bound, open or certified. */
const isBare = ({ restored, head, anchor, open, rounds }: State): boolean =>
  restored !== null && head === null && anchor === null && open.length === 0 && rounds.bound === 0;

const isOwnPolicy = (command: Command, self: AgentId): boolean =>
  command.kind === "multicast" &&
  command.packet.kind === "refusal" &&
  command.packet.signerAgentId === self &&
  command.packet.reason === "contact-policy";

/**
 * Whether an event in the lane can stand at its beginning: the own question, or a GENESIS. Anything else is about a conversation
 * that has begun, in a lane that is as new as its Router.
 */
const isOfBeginning = (event: Extract<Event, { kind: "packet" }>): boolean =>
  event.packet.kind === "catch_up_request" ||
  (event.packet.kind === "proposal_packet" && event.packet.recordCore.action.kind === "genesis");

const withRemark = (
  remarks: Work["remarks"],
  conversationId: ConversationId,
  note: string,
): Work["remarks"] => {
  const key = `${conversationId} ${note}`;
  const times = (remarks.get(key)?.times ?? 0) + 1;
  return new Map(remarks).set(key, { conversationId, note, times });
};
