// One conversation of n members on the real fold, in memory and virtual time: a correct Router with one lane and a bag of
// single-recipient envelopes for each member, members that crash and come back from what was durable.
// Decides nothing by itself: a scenario or a seed says what happens next. Knows no store, no socket and no sealing.

import type { Command } from "@social-harness/protocol/conversation/Command";
import type { Event, Inputs } from "@social-harness/protocol/conversation/Event";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import { nextWake } from "@social-harness/protocol/conversation/State";
import { transition } from "@social-harness/protocol/conversation/Transition";
import * as Content from "@social-harness/protocol/history/Content";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Limits from "@social-harness/protocol/Limits";
import { type AgentId, PostId, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { Agent } from "./Agents.ts";
import { blank, type Disk, type Outgoing, readsOf, reread, written } from "./Disk.ts";

/** An envelope that the Router accepted. */
export interface Envelope {
  readonly from: AgentId;
  readonly packets: ReadonlyArray<Packet>;
  readonly laneSequence: number | null;
  /** Members who cannot open it: for them it is absent. */
  readonly closedTo: ReadonlySet<AgentId>;
}

export interface Member {
  readonly index: number;
  readonly id: AgentId;
  readonly signer: Signer;
  disk: Disk;
  up: boolean;
  connected: boolean;
  folded: boolean;
  /** The lane's length that the Router named on the last connection. */
  tail: number;
  /** How far this member's clock is from the world's. */
  clockOffsetMs: number;
  /** When its timer fires, in the world's time: set with each turn, and not moved by a jump of its clock. */
  wakeAt: number | null;
  /** Single-recipient envelopes waiting for this member, in no order. */
  readonly bag: Array<Envelope>;
}

/** One committed turn of one member. */
export interface Committed {
  readonly member: Member;
  readonly before: Disk;
  readonly after: Disk;
  readonly commands: ReadonlyArray<Command>;
}

export interface World {
  readonly members: Membership.Members;
  readonly all: ReadonlyArray<Member>;
  readonly trust: Inputs["trust"];
  readonly routerInstanceId: RouterInstanceId;
  readonly lane: Array<Envelope>;
  now: number;
  /** Called after every committed turn. */
  readonly onCommitted: Array<(committed: Committed) => void>;
  /** Called when the Router accepts an envelope. */
  readonly onAccepted: Array<(envelope: Envelope, to: AgentId | "lane") => void>;
  /** Says that the running turn is lost: the member dies before its commit. */
  dies: (member: Member) => boolean;
  /** Says that an envelope does not reach a member: a unicast is lost, a multicast does not open there. */
  loses: (from: AgentId, packets: ReadonlyArray<Packet>, to: Member) => boolean;
  /** Persists an intent and submits it in one turn. Null when the member is down or dies. */
  readonly submit: (index: number, text: string) => PostId | null;
  /** The Router accepts the oldest envelope of a member's outbox. */
  readonly flush: (index: number) => boolean;
  readonly accept: (from: AgentId, outgoing: Outgoing, closedTo?: ReadonlySet<AgentId>) => void;
  /** The next envelope of the lane; `absent` passes over it as one that does not open. */
  readonly deliverLane: (index: number, absent?: boolean) => boolean;
  readonly deliverFromBag: (index: number, place: number, keep?: boolean) => boolean;
  /** Feeds an envelope that was delivered before, once more. */
  readonly redeliver: (index: number, envelope: Envelope) => void;
  readonly feed: (index: number, event: Event) => void;
  readonly crash: (index: number) => void;
  readonly restart: (index: number) => void;
  readonly disconnect: (index: number) => void;
  readonly connect: (index: number) => void;
  /** The earliest timer of any member that is up, in the world's time. */
  readonly nextWake: () => number | null;
  /** Feeds a tick to every member whose timer is due. */
  readonly tick: () => boolean;
}

export interface WorldOptions {
  readonly agents: ReadonlyArray<Agent>;
  readonly trust: Inputs["trust"];
}

const nobody: ReadonlySet<AgentId> = new Set();

export const createWorld = ({ agents, trust }: WorldOptions): World => {
  const members = Membership.ofCards(agents.map((agent) => agent.card));
  const routerInstanceId = RouterInstanceId.fromBytes(Buffer.alloc(16, 7));
  const signerOf = new Map(agents.map(({ card, signer }) => [card.agentId, signer]));
  const all = members.ids.map((id, index): Member => ({
    index,
    id,
    signer: signerOf.get(id) as Signer,
    disk: blank,
    up: true,
    connected: true,
    folded: true,
    tail: 0,
    clockOffsetMs: 0,
    wakeAt: null,
    bag: [],
  }));
  let posts = 0;
  const at = (index: number): Member => all[index] as Member;

  /** No timer is far away: one that seems to be comes from a clock that was set back, and fires after the longest interval. */
  const setTimer = (member: Member): void => {
    const wake = nextWake(member.disk.state);
    const delay = wake === null ? null : wake - member.clockOffsetMs - world.now;
    member.wakeAt = delay === null ? null : world.now + Math.min(Math.max(delay, 0), Limits.silenceMsMax);
  };

  const down = (member: Member): void => {
    member.up = false;
    member.connected = false;
    member.folded = false;
  };

  /** Runs events over a copy of the disk and commits it whole. False when the member died instead. */
  const turn = (member: Member, disk: Disk, events: ReadonlyArray<Event>): boolean => {
    let after = disk;
    const commands: Array<Command> = [];
    for (const event of events) {
      const result = transition(after.state, event, {
        now: world.now + member.clockOffsetMs,
        self: member.id,
        members,
        signer: member.signer,
        trust,
        routerInstanceId,
        folded: member.folded,
        reads: readsOf(after),
      });
      after = written(after, member.id, result.state, result.commands);
      commands.push(...result.commands);
    }
    if (world.dies(member)) {
      down(member);
      return false;
    }
    const before = member.disk;
    member.disk = after;
    setTimer(member);
    for (const observe of world.onCommitted) observe({ member, before, after, commands });
    return true;
  };

  const eventsOf = ({ from, packets, laneSequence }: Envelope): ReadonlyArray<Event> =>
    packets.map((packet) => ({ kind: "packet", from, laneSequence, packet }));

  /** Tells the fold once that the lane is folded to the tail of this connection. */
  const noteFolded = (member: Member): void => {
    if (!member.connected || member.folded || member.disk.cursor < member.tail) return;
    member.folded = true;
    turn(member, member.disk, [{ kind: "folded" }]);
  };

  const connect = (member: Member): void => {
    member.connected = true;
    member.tail = world.lane.length;
    noteFolded(member);
  };

  const isDue = ({ up, wakeAt }: Member): boolean => up && wakeAt !== null && wakeAt <= world.now;

  const world: World = {
    members,
    all,
    trust,
    routerInstanceId,
    lane: [],
    now: 1_000_000,
    onCommitted: [],
    onAccepted: [],
    dies: () => false,
    loses: () => false,
    submit: (index, text) => {
      const member = at(index);
      const postId = PostId.fromBytes(Buffer.from(`post-${++posts}`.padEnd(32, "-")));
      const intent = {
        kind: "post_intent" as const,
        conversationId: members.conversationId,
        membershipHash: members.membershipHash,
        authorAgentId: member.id,
        postId,
        content: Content.ofText(text),
      };
      const stored = { intent, createdAt: world.now + member.clockOffsetMs, outcome: null };
      const disk = { ...member.disk, intents: [...member.disk.intents, stored] };
      return member.up && turn(member, disk, [{ kind: "submitted" }]) ? postId : null;
    },
    flush: (index) => {
      const member = at(index);
      const [first, ...rest] = member.disk.outbox;
      if (!member.connected || first === undefined) return false;
      member.disk = { ...member.disk, outbox: rest };
      world.accept(member.id, first);
      return true;
    },
    accept: (from, { to, packets }, closedTo = nobody) => {
      const laneSequence = to === "lane" ? world.lane.length + 1 : null;
      const lost = all.filter((member) => world.loses(from, packets, member)).map(({ id }) => id);
      const envelope: Envelope = { from, packets, laneSequence, closedTo: new Set([...closedTo, ...lost]) };
      if (to === "lane") world.lane.push(envelope);
      else if (!lost.includes(to)) all.find(({ id }) => id === to)?.bag.push(envelope);
      for (const observe of world.onAccepted) observe(envelope, to);
    },
    deliverLane: (index, absent = false) => {
      const member = at(index);
      const envelope = world.lane[member.disk.cursor];
      if (!member.connected || envelope === undefined) return false;
      const opens = !absent && !envelope.closedTo.has(member.id);
      const disk = { ...member.disk, cursor: member.disk.cursor + 1 };
      if (turn(member, disk, opens ? eventsOf(envelope) : [])) noteFolded(member);
      return true;
    },
    deliverFromBag: (index, place, keep = false) => {
      const member = at(index);
      const envelope = member.bag[place];
      if (!member.connected || envelope === undefined) return false;
      if (turn(member, member.disk, eventsOf(envelope)) && !keep) member.bag.splice(place, 1);
      return true;
    },
    redeliver: (index, envelope) => {
      const member = at(index);
      if (member.connected) turn(member, member.disk, eventsOf(envelope));
    },
    feed: (index, event) => {
      const member = at(index);
      if (member.up) turn(member, member.disk, [event]);
    },
    crash: (index) => down(at(index)),
    restart: (index) => {
      const member = at(index);
      if (member.up) return;
      member.up = true;
      member.disk = reread(member.disk);
      if (turn(member, member.disk, [{ kind: "resumed" }])) connect(member);
    },
    disconnect: (index) => {
      const member = at(index);
      member.connected = false;
      member.folded = false;
    },
    connect: (index) => {
      const member = at(index);
      if (member.up && !member.connected) connect(member);
    },
    nextWake: () => {
      const wakes = all.flatMap(({ up, wakeAt }) => (up && wakeAt !== null ? [wakeAt] : []));
      return wakes.length === 0 ? null : Math.min(...wakes);
    },
    tick: () => {
      const due = all.filter(isDue);
      for (const member of due) turn(member, member.disk, [{ kind: "tick" }]);
      return due.length > 0;
    },
  };
  return world;
};
