// One conversation of n members on the real fold, in memory and virtual time: a Router with a lane and bags of
// single-recipient envelopes, members that crash and come back from what was durable.
// Decides nothing by itself: a story or a seed says what happens next. Knows no store and no socket.

import type { Command } from "@social-harness/protocol/conversation/Command";
import type { Event, Inputs } from "@social-harness/protocol/conversation/Event";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import { nextWake } from "@social-harness/protocol/conversation/State";
import { transition } from "@social-harness/protocol/conversation/Transition";
import * as Content from "@social-harness/protocol/history/Content";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Limits from "@social-harness/protocol/Limits";
import { type AgentId, PostId, type RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { Agent } from "./Agents.ts";
import { aged, blank, type Disk, type Outgoing, readsOf, reread, written } from "./Disk.ts";
import type { Random } from "./Random.ts";
import * as Router from "./Router.ts";
import { plainWire, type Wire } from "./Wire.ts";

export type { Envelope } from "./Router.ts";
type Envelope = Router.Envelope;

export interface Member {
  readonly index: number;
  readonly id: AgentId;
  readonly signer: Signer;
  disk: Disk;
  up: boolean;
  connected: boolean;
  folded: boolean;
  /** How it stands to the Router's instances. */
  readonly binding: Router.Binding;
  /** The lane's length that the Router named on the last connection. */
  tail: number;
  /** Cut off from the Router, whatever it tries. */
  isolated: boolean;
  /** Its store remembers less than the Router does, and its fold has not been told yet: the next connection shows it. */
  forgot: boolean;
  /** Its disk came back older than it was, once or more. */
  hasForgotten: boolean;
  /** How far this member's clock is from the world's. */
  clockOffsetMs: number;
  /** When its timer fires, in the world's time: set with each turn, and not moved by a jump of its clock. */
  wakeAt: number | null;
  /** The lane as its Router instance shows it to this member. */
  readonly lane: ReadonlyArray<Envelope>;
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

/** What becomes of a turn: it counts, or its process dies before the commit, or its store takes nothing. */
export type Fate = "commits" | "dies" | "refused";

/** What stands beside the disks: told of every turn before it counts, and of each start of a process. */
export interface Beside {
  readonly turn: (turn: Committed, fate: Fate) => void;
  readonly started: (member: Member) => void;
}

export interface World {
  readonly members: Membership.Members;
  readonly all: ReadonlyArray<Member>;
  readonly trust: Inputs["trust"];
  readonly wire: Wire;
  /** That of the Router's instance which members now meet. */
  readonly routerInstanceId: RouterInstanceId;
  /** That instance's lane, as its first member is shown it. */
  readonly lane: Array<Envelope>;
  now: number;
  /** Whether the Router answers at all. */
  routerUp: boolean;
  beside: Beside | null;
  /** Called with every event that a member's fold is given, the state before it included. */
  readonly onEvent: Array<(member: Member, state: Disk["state"], event: Event) => void>;
  /** Called after every committed turn. */
  readonly onCommitted: Array<(committed: Committed) => void>;
  /** Called when the Router accepts an envelope. */
  readonly onAccepted: Array<(envelope: Envelope, to: AgentId | "lane") => void>;
  /** Says that the running turn is lost: the member dies before its commit. */
  dies: (member: Member) => boolean;
  /** Says that a member's store takes no writes: the turn comes to nothing, and the connection that brought it ends. */
  refuses: (member: Member) => boolean;
  /** A member's contact policy: whether it lets an agent open a conversation. */
  admits: (member: Member, author: AgentId) => boolean;
  /** Members believe to have on disk what certificates made by hand show of them: stories may sign in their name. */
  isTold: boolean;
  /** Says that an envelope does not reach a member: a unicast is lost, a multicast does not open there. */
  loses: (from: AgentId, packets: ReadonlyArray<Packet>, to: Member) => boolean;
  /** Persists an intent and submits it in one turn. Null when the member is down or dies. */
  readonly submit: (index: number, said: string | Content.Content) => PostId | null;
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
  /** A fresh instance takes the Router's place, or an earlier one comes back; members meet it when they next connect. */
  readonly replaceRouter: (earlier?: Random) => void;
  /** The Router's log comes back older; every connection ends. */
  readonly rollBackRouter: (length: number, random: Random) => void;
  /** From now on the Router shows each member its own order of the lane; null makes it honest again. */
  readonly forkRouter: (random: Random | null) => void;
  /** A member's disk comes back as it was. The Router remembers more and says so, unless it has forgotten as much itself. */
  readonly restore: (index: number, disk: Disk, isNoticed?: boolean) => void;
  /** The earliest timer of any member that is up, in the world's time. */
  readonly nextWake: () => number | null;
  /** Feeds a tick to every member whose timer is due. */
  readonly tick: () => boolean;
}

export interface WorldOptions {
  readonly agents: ReadonlyArray<Agent>;
  readonly trust: Inputs["trust"];
  readonly wire?: Wire;
}

const nobody: ReadonlySet<AgentId> = new Set();

export const createWorld = ({ agents, trust, wire = plainWire }: WorldOptions): World => {
  const members = Membership.ofCards(agents.map((agent) => agent.card));
  const routers: Array<Router.RouterInstance> = [Router.createInstance(0, members.n)];
  let current = routers[0] as Router.RouterInstance;
  const routerOf = ({ binding }: Member): Router.RouterInstance => binding.instance;
  const signerOf = new Map(agents.map(({ card, signer }) => [card.agentId, signer]));
  const all = members.ids.map((id, index): Member => ({
    index,
    id,
    signer: signerOf.get(id) as Signer,
    disk: blank,
    up: true,
    connected: true,
    folded: true,
    binding: Router.bindingTo(current),
    tail: 0,
    isolated: false,
    forgot: false,
    hasForgotten: false,
    clockOffsetMs: 0,
    wakeAt: null,
    get lane() {
      return Router.viewOf(routerOf(this), index);
    },
    get bag() {
      return Router.bagOf(routerOf(this), index);
    },
  }));
  /** Finished envelopes that the Router has: one that a restored member sends again is not taken twice. */
  const taken = new WeakSet<Outgoing>();
  let posts = 0;
  const at = (index: number): Member => all[index] as Member;

  /** No timer is far away: one that seems to be comes from a clock that was set back, and fires after the longest interval. */
  const setTimer = (member: Member): void => {
    const wake = nextWake(member.disk.state);
    const delay = wake === null ? null : wake - member.clockOffsetMs - world.now;
    member.wakeAt = delay === null ? null : world.now + Math.min(Math.max(delay, 0), Limits.silenceMsMax);
  };

  const disconnect = (member: Member): void => {
    member.connected = false;
    member.folded = false;
  };

  const down = (member: Member): void => {
    member.up = false;
    disconnect(member);
  };

  /** Runs events over a copy of the disk and commits it whole. False when the member died, or its store refused. */
  const turn = (member: Member, disk: Disk, events: ReadonlyArray<Event>): boolean => {
    let after = disk;
    const commands: Array<Command> = [];
    for (const event of events) {
      for (const observe of world.onEvent) observe(member, after.state, event);
      const result = transition(after.state, event, {
        now: world.now + member.clockOffsetMs,
        self: member.id,
        members,
        signer: member.signer,
        trust,
        routerInstanceId: routerOf(member).id,
        folded: member.folded,
        admits: (author) => world.admits(member, author),
        reads: world.isTold ? { ...readsOf(after), hasSigned: () => true } : readsOf(after),
      });
      after = aged(written(after, member.id, result.state, result.commands), after.state);
      commands.push(...result.commands);
    }
    const committed: Committed = { member, before: member.disk, after, commands };
    const fate = world.dies(member) ? "dies" : world.refuses(member) ? "refused" : "commits";
    world.beside?.turn(committed, fate);
    if (fate === "dies") down(member);
    else if (fate === "refused") disconnect(member);
    if (fate !== "commits") return false;
    member.disk = after;
    setTimer(member);
    for (const observe of world.onCommitted) observe(committed);
    return true;
  };

  const eventsOf = (
    { from }: Envelope,
    packets: ReadonlyArray<Packet>,
    laneSequence: number | null,
  ): ReadonlyArray<Event> => packets.map((packet) => ({ kind: "packet", from, laneSequence, packet }));

  /** Tells the fold once that the lane is folded to the tail of this connection. */
  const noteFolded = (member: Member): void => {
    if (!member.connected || member.folded || member.disk.cursor < member.tail) return;
    member.folded = true;
    if (turn(member, member.disk, [{ kind: "folded" }]) && isDoubtful(member))
      turn(member, member.disk, [{ kind: "wish-round" }]);
  };

  /** Whether the conversation still stands under an anchor from before its Router changed, and no round is on its way. */
  const isDoubtful = ({ binding, disk }: Member): boolean => {
    const { anchor, rounds } = disk.state;
    if (anchor === null || anchor.anchorHash !== binding.formerAnchor) return false;
    const stated = rounds.own?.statement.routerInstanceId ?? binding.instance.id;
    return stated !== binding.instance.id || Math.max(rounds.bound, rounds.wish) <= anchor.round;
  };

  /** Has a member meet the Router's instance as it now is: another one, one that has forgotten, or the same. */
  const meetRouter = (member: Member): void => {
    const { anchor } = member.disk.state;
    const cursor = Router.meet(member.binding, current, member.disk.cursor, anchor?.anchorHash ?? null);
    if (cursor !== member.disk.cursor) member.disk = { ...member.disk, cursor };
  };

  const connect = (member: Member): void => {
    if (!world.routerUp || member.isolated) return;
    meetRouter(member);
    if (member.forgot && !turn(member, member.disk, [{ kind: "restored" }])) return;
    member.forgot = false;
    member.connected = true;
    member.tail = member.lane.length;
    noteFolded(member);
  };

  const isDue = ({ up, wakeAt }: Member): boolean => up && wakeAt !== null && wakeAt <= world.now;

  /** Takes an envelope in at one Router instance. */
  const acceptAt = (
    router: Router.RouterInstance,
    from: AgentId,
    { to, packets }: Outgoing,
    closedTo: ReadonlySet<AgentId>,
  ): void => {
    const lost = all.filter((member) => world.loses(from, packets, member)).map(({ id }) => id);
    const closed = closedTo.size + lost.length === 0 ? nobody : new Set([...closedTo, ...lost]);
    const sealed = wire.seal(from, to === "lane" ? members.ids : [to], packets, closed);
    const laneSequence = to === "lane" ? Router.viewOf(router, 0).length + 1 : null;
    const envelope: Envelope = { from, packets, laneSequence, closedTo: closed, sealed };
    if (to === "lane")
      Router.append(router, envelope, (index) =>
        routerOf(at(index)) === router ? at(index).disk.cursor : 0,
      );
    else if (!lost.includes(to)) Router.bagOf(router, members.indexOf(to)).push(envelope);
    for (const observe of world.onAccepted) observe(envelope, to);
  };

  const world: World = {
    members,
    all,
    trust,
    wire,
    get routerInstanceId() {
      return current.id;
    },
    get lane() {
      return Router.viewOf(current, 0);
    },
    now: 1_000_000,
    routerUp: true,
    beside: null,
    onEvent: [],
    onCommitted: [],
    onAccepted: [],
    dies: () => false,
    refuses: () => false,
    admits: () => true,
    isTold: false,
    loses: () => false,
    submit: (index, said) => {
      const member = at(index);
      const postId = PostId.fromBytes(Buffer.from(`post-${++posts}`.padEnd(32, "-")));
      const intent = {
        kind: "post_intent" as const,
        conversationId: members.conversationId,
        membershipHash: members.membershipHash,
        authorAgentId: member.id,
        postId,
        content: typeof said === "string" ? Content.ofText(said) : said,
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
      if (!taken.has(first)) acceptAt(routerOf(member), member.id, first, nobody);
      taken.add(first);
      return true;
    },
    accept: (from, outgoing, closedTo = nobody) => acceptAt(current, from, outgoing, closedTo),
    deliverLane: (index, absent = false) => {
      const member = at(index);
      const { cursor } = member.disk;
      const envelope = member.lane[cursor];
      if (!member.connected || envelope === undefined) return false;
      const packets = absent ? null : wire.open(envelope, member.id);
      const disk = { ...member.disk, cursor: cursor + 1 };
      if (turn(member, disk, packets === null ? [] : eventsOf(envelope, packets, cursor + 1)))
        noteFolded(member);
      return true;
    },
    deliverFromBag: (index, place, keep = false) => {
      const member = at(index);
      const envelope = member.bag[place];
      if (!member.connected || envelope === undefined) return false;
      const events = eventsOf(envelope, wire.open(envelope, member.id) ?? [], null);
      if (turn(member, member.disk, events) && !keep) member.bag.splice(place, 1);
      return true;
    },
    redeliver: (index, envelope) => {
      const member = at(index);
      const events = eventsOf(envelope, wire.open(envelope, member.id) ?? [], envelope.laneSequence);
      if (member.connected) turn(member, member.disk, events);
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
      world.beside?.started(member);
      if (turn(member, member.disk, [{ kind: "resumed" }])) connect(member);
      else down(member);
    },
    disconnect: (index) => disconnect(at(index)),
    connect: (index) => {
      const member = at(index);
      if (member.up && !member.connected) connect(member);
    },
    replaceRouter: (earlier) => {
      if (earlier === undefined) routers.push(Router.createInstance(routers.length, members.n));
      current = (earlier === undefined ? routers.at(-1) : earlier.pick(routers)) as Router.RouterInstance;
    },
    rollBackRouter: (length, random) => {
      for (const member of all) disconnect(member);
      Router.rollBack(current, length, random);
    },
    forkRouter: (random) => {
      if (random === null) current.fork = null;
      else Router.fork(current, random);
    },
    restore: (index, disk, isNoticed = true) => {
      const member = at(index);
      down(member);
      member.forgot = isNoticed;
      member.hasForgotten = true;
      // What the member acknowledged before is no longer in its mailbox, and what it was about to send is not sent again.
      member.disk = { ...disk, cursor: member.disk.cursor, outbox: [] };
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
