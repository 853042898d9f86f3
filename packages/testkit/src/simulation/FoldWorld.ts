// One conversation of n members on the real fold, in memory and virtual time: a correct Router with one lane and ordered
// mailboxes, members that crash and come back from what was durable. Everything is drawn from one seed.
// Knows no store, no socket and no sealing.

import type { Command } from "@social-harness/protocol/conversation/Command";
import type { Event, Inputs, Reads } from "@social-harness/protocol/conversation/Event";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import { initial, nextWake, type State } from "@social-harness/protocol/conversation/State";
import { transition } from "@social-harness/protocol/conversation/Transition";
import { pageBytesOf } from "@social-harness/protocol/conversation/CatchUp";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { ofText } from "@social-harness/protocol/history/Content";
import * as Membership from "@social-harness/protocol/history/Membership";
import type { PostIntent, RecordCore } from "@social-harness/protocol/history/Record";
import {
  type AgentId,
  PostId,
  type RecordHash,
  RouterInstanceId,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { Agent } from "./Agents.ts";

type OwnVote = Extract<Command, { kind: "own-vote" }>;

/** What a member's disk holds. */
export interface Disk {
  state: State;
  readonly records: Array<HistoryRecord>;
  readonly cores: Map<RecordHash, RecordCore>;
  readonly intents: Array<{
    readonly intent: PostIntent;
    readonly createdAt: number;
    outcome: string | null;
  }>;
  readonly ownVotes: Array<OwnVote>;
  cursor: number;
}

interface Envelope {
  readonly from: number;
  readonly packets: ReadonlyArray<Packet>;
  readonly laneSequence: number | null;
}

export interface Member {
  readonly index: number;
  readonly id: AgentId;
  readonly signer: Signer;
  readonly disk: Disk;
  up: boolean;
  /** The mailbox length that the Router named on the last connection. */
  tail: number;
  readonly mailbox: Array<Envelope>;
}

export interface World {
  readonly members: Membership.Members;
  readonly all: ReadonlyArray<Member>;
  readonly notes: Array<string>;
  now: number;
  readonly submit: (index: number, text: string) => PostId;
  /** Delivers the next envelope of a mailbox. False when there is none. */
  readonly deliver: (index: number) => boolean;
  readonly crash: (index: number) => void;
  readonly restart: (index: number) => void;
  /** Moves time to the next timer of a member that is up and fires it. False when there is none within `horizonMs`. */
  readonly advance: (horizonMs: number) => boolean;
  /** Delivers and advances until nothing moves, at most `steps` times. */
  readonly run: (steps: number, horizonMs?: number) => void;
  readonly feed: (index: number, event: Event) => void;
  envelopesSent: number;
  /** Decides which envelopes are lost on their way to a member; none by default. */
  lose: (from: number, to: number, packets: ReadonlyArray<Packet>) => boolean;
}

export interface WorldOptions {
  readonly agents: ReadonlyArray<Agent>;
  readonly trust: Inputs["trust"];
  readonly random: () => number;
}

const readsOf = (disk: Disk): Reads => ({
  nextIntent: (except) =>
    disk.intents.find((entry) => entry.outcome === null && !except.has(entry.intent.postId)) ?? null,
  core: (recordHash) => disk.cores.get(recordHash) ?? null,
  postUsed: (author, postId) =>
    disk.records.some(({ recordCore: { action } }) => {
      return action.authorAgentId === author && action.postIntent.postId === postId;
    }),
  heightOf: (recordHash) => {
    const height = disk.records.findIndex((record) => record.recordHash === recordHash);
    return height < 0 ? null : height;
  },
  recordAt: (height) => disk.records[height] ?? null,
  recordsAfter: (height, bytesMax) => {
    const records: Array<HistoryRecord> = [];
    let bytes = 0;
    for (const record of disk.records.slice(height + 1)) {
      bytes += pageBytesOf(record);
      if (records.length > 0 && bytes > bytesMax) return { records, hasMore: true };
      records.push(record);
    }
    return { records, hasMore: false };
  },
});

export const createWorld = ({ agents, trust, random }: WorldOptions): World => {
  const members = Membership.ofCards(agents.map((agent) => agent.card));
  const instance = RouterInstanceId.fromBytes(Buffer.alloc(16, 7));
  const all: ReadonlyArray<Member> = members.ids.map((id, index) => ({
    index,
    id,
    signer: (agents.find((agent) => agent.card.agentId === id) as Agent).signer,
    disk: { state: initial, records: [], cores: new Map(), intents: [], ownVotes: [], cursor: 0 },
    up: true,
    tail: 0,
    mailbox: [],
  }));
  let laneSequence = 0;
  let posts = 0;

  const apply = (member: Member, event: Event): void => {
    const { disk } = member;
    const { state, commands } = transition(disk.state, event, {
      now: world.now,
      self: member.id,
      members,
      signer: member.signer,
      trust,
      routerInstanceId: instance,
      folded: disk.cursor >= member.tail,
      reads: readsOf(disk),
    });
    disk.state = structuredClone(state);
    const multicast: Array<Packet> = [];
    const unicast = new Map<AgentId, Array<Packet>>();
    for (const command of commands) {
      switch (command.kind) {
        case "keep-core":
          disk.cores.set(command.recordHash, command.core);
          break;
        case "drop-core":
          disk.cores.delete(command.recordHash);
          break;
        case "own-vote":
          disk.ownVotes.push(command);
          break;
        case "commit":
          disk.records.push(command.record);
          break;
        case "intent-ended":
          for (const entry of disk.intents) {
            if (entry.intent.postId === command.postId) entry.outcome = command.outcome;
          }
          break;
        case "multicast":
          multicast.push(command.packet);
          break;
        case "unicast":
          unicast.set(command.to, [...(unicast.get(command.to) ?? []), command.packet]);
          break;
        case "note":
          world.notes.push(`${member.index}: ${command.message}`);
          break;
      }
    }
    for (const [to, packets] of unicast) send(member, [members.indexOf(to)], packets, null);
    if (multicast.length > 0) {
      laneSequence++;
      send(
        member,
        all.map((other) => other.index),
        multicast,
        laneSequence,
      );
    }
  };

  const send = (
    from: Member,
    to: ReadonlyArray<number>,
    packets: ReadonlyArray<Packet>,
    sequence: number | null,
  ): void => {
    world.envelopesSent++;
    const copy = structuredClone(packets);
    for (const index of to) {
      if (world.lose(from.index, index, packets)) continue;
      (all[index] as Member).mailbox.push({ from: from.index, packets: copy, laneSequence: sequence });
    }
  };

  const folded = (member: Member): void => {
    if (member.disk.cursor === member.tail) apply(member, { kind: "folded" });
  };

  const world: World = {
    members,
    all,
    notes: [],
    now: 1_000_000,
    envelopesSent: 0,
    lose: () => false,
    feed: (index, event) => apply(all[index] as Member, event),
    submit: (index, text) => {
      const member = all[index] as Member;
      const postId = PostId.fromBytes(Buffer.from(`post-${String(++posts)}`.padEnd(32, "-")));
      member.disk.intents.push({
        intent: {
          kind: "post_intent",
          conversationId: members.conversationId,
          membershipHash: members.membershipHash,
          authorAgentId: member.id,
          postId,
          content: ofText(text),
        },
        createdAt: world.now,
        outcome: null,
      });
      if (member.up) apply(member, { kind: "submitted" });
      return postId;
    },
    deliver: (index) => {
      const member = all[index] as Member;
      const envelope = member.mailbox[member.disk.cursor];
      if (!member.up || envelope === undefined) return false;
      member.disk.cursor++;
      for (const packet of envelope.packets) {
        const from = (all[envelope.from] as Member).id;
        apply(member, { kind: "packet", from, laneSequence: envelope.laneSequence, packet });
      }
      if (member.tail > 0) folded(member);
      return true;
    },
    crash: (index) => {
      (all[index] as Member).up = false;
    },
    restart: (index) => {
      const member = all[index] as Member;
      member.up = true;
      member.tail = member.mailbox.length;
      apply(member, { kind: "resumed" });
      folded(member);
    },
    advance: (horizonMs) => {
      let first: { member: Member; at: number } | null = null;
      for (const member of all) {
        const at = member.up ? nextWake(member.disk.state) : null;
        if (at !== null && (first === null || at < first.at)) first = { member, at };
      }
      if (first === null || first.at > world.now + horizonMs) return false;
      world.now = Math.max(world.now, first.at);
      apply(first.member, { kind: "tick" });
      return true;
    },
    run: (steps, horizonMs = 600_000) => {
      for (let step = 0; step < steps; step++) {
        const waiting = all.filter((member) => member.up && member.disk.cursor < member.mailbox.length);
        const next = waiting[Math.floor(random() * waiting.length)];
        if (next !== undefined) world.deliver(next.index);
        else if (!world.advance(horizonMs)) return;
      }
    },
  };
  return world;
};
