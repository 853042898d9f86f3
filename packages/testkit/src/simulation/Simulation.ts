// One seed, one run: draws an environment, lets a storm of losses, crashes, delays and lies rage over the fold, then calms
// it and asks whether all that honest members had persisted is certified. Throws with the first thing that is wrong.

import { faultsOf } from "@social-harness/protocol/history/Quorum";
import * as Packets from "@social-harness/protocol/conversation/Packet";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { createAgents } from "./Agents.ts";
import { createByzantine } from "./Byzantine.ts";
import { calm } from "./Calm.ts";
import { openConversation } from "./Certify.ts";
import { createWorld, type Envelope, type Member, type World } from "./FoldWorld.ts";
import { watch } from "./Oracles.ts";
import { Violation } from "./Violation.ts";
import { createRandom, type Random } from "./Random.ts";

/** What a run goes through. Every number but the counts is the probability of one step of the storm. */
export interface Environment {
  readonly n: number;
  /** Members at the end of the list that are Byzantine, at most f. */
  readonly byzantine: number;
  /** Byzantine members never propose: honest members must get on with their work all the same. */
  readonly nuisance: boolean;
  /** How much of the storm is theirs. */
  readonly mischief: number;
  /** A certified GENESIS stands on every disk from the start. */
  readonly opened: boolean;
  /** Members still away when the storm has passed; with the Byzantine ones at most f. */
  readonly absent: number;
  readonly authors: number;
  readonly postsPerAuthor: number;
  readonly steps: number;
  readonly crash: number;
  readonly restart: number;
  /** A turn is lost whole, before its commit. */
  readonly die: number;
  readonly disconnect: number;
  readonly connect: number;
  readonly bagLoss: number;
  readonly repeat: number;
  /** Which lane envelopes do not open at times for single members, and how often. */
  readonly laneLossOf: "evidence" | "proposals" | "any";
  readonly laneLoss: number;
  /** Losses come in spells in which a member understands nothing, not one by one. */
  readonly deafness: number;
  /** The Router loses part of a mailbox and says so. */
  readonly gap: number;
  readonly clockJump: number;
  /** Every packet passes the closed decoder on its way. */
  readonly strict: boolean;
  /** Ed25519 instead of a keyed hash. */
  readonly realKeys: boolean;
}

export interface Outcome {
  readonly environment: Environment;
  readonly certified: number;
  readonly steps: number;
}

const draw = (random: Random): Environment => {
  const n = random.pick([2, 2, 2, 3, 3, 4, 4, 4, 4, 5, 7, 10]);
  const f = faultsOf(n);
  const byzantine = random.chance(0.5) ? random.below(f + 1) : 0;
  const opened = byzantine > 0 || random.chance(0.5);
  const absent = opened && random.chance(0.7) ? random.below(f - byzantine + 1) : 0;
  const rough = random.chance(0.7);
  const some = (most: number): number => (rough && random.chance(0.6) ? random.next() * most : 0);
  return {
    n,
    byzantine,
    nuisance: byzantine > 0 && random.chance(0.4),
    mischief: 0.05 + random.next() * 0.4,
    opened,
    absent,
    authors: random.chance(0.3) ? 1 : 1 + random.below(Math.min(4, n - byzantine)),
    postsPerAuthor: 1 + random.below(6),
    steps: n * (20 + random.below(100)),
    crash: some(0.05),
    restart: random.pick([0.005, 0.02, 0.1]),
    die: some(0.03),
    disconnect: some(0.03),
    connect: random.pick([0.005, 0.02, 0.1]),
    bagLoss: some(0.5),
    repeat: some(0.15),
    laneLossOf: random.pick(["evidence", "proposals", "any"]),
    laneLoss: some(0.8),
    deafness: random.chance(0.4) ? 0.02 : 0,
    gap: some(0.01),
    clockJump: random.chance(0.1) ? 0.02 : 0,
    strict: random.chance(0.05),
    realKeys: false,
  };
};

/** Whether everything that honest members persisted must be certified once the storm is over: a new round frees any slot. */
const mustLive = ({ byzantine, nuisance }: Environment): boolean => byzantine === 0 || nuisance;

const carriesProposal = ({ packets }: Envelope): boolean =>
  packets.some(({ kind }) => kind === "proposal_packet");

/** One thing after another, until the environment's steps are used up. */
const storm = (world: World, environment: Environment, random: Random, act: () => void): void => {
  const { authors, postsPerAuthor, steps, laneLoss, laneLossOf, deafness } = environment;
  const honest = world.all.slice(0, environment.n - environment.byzantine);
  const submitted = new Map<number, number>();
  const deaf = new Set<number>();

  const deliverLane = (member: Member): boolean => {
    const next = world.lane[member.disk.cursor];
    const mayMiss =
      next !== undefined && (laneLossOf === "any" || carriesProposal(next) === (laneLossOf === "proposals"));
    const misses = deafness > 0 ? deaf.has(member.index) : random.chance(laneLoss);
    return world.deliverLane(member.index, mayMiss && misses);
  };
  const deliverFromBag = (member: Member): boolean => {
    if (member.bag.length === 0 || !member.connected) return false;
    const place = random.below(member.bag.length);
    if (random.chance(environment.bagLoss)) return member.bag.splice(place, 1).length > 0;
    return world.deliverFromBag(member.index, place, random.chance(environment.repeat));
  };
  const repeat = (member: Member): void => {
    const envelope = random.pick(world.lane.slice(0, member.disk.cursor));
    if (!envelope.closedTo.has(member.id)) world.redeliver(member.index, envelope);
  };
  /** One envelope leaves or arrives, if any is there for this member. */
  const move = (member: Member): void => {
    const ways = [() => deliverLane(member), () => deliverFromBag(member), () => world.flush(member.index)];
    const first = random.below(ways.length);
    for (let i = 0; i < ways.length; i++) if (ways[(first + i) % ways.length]?.() === true) return;
  };
  const submit = (member: Member): void => {
    const count = submitted.get(member.index) ?? 0;
    if (member.index >= authors || count === postsPerAuthor) return;
    submitted.set(member.index, count + 1);
    world.submit(member.index, `post ${count} of ${member.index}`);
  };
  const letTimePass = (): void => {
    world.now += random.chance(0.8) ? random.below(400) : random.below(20_000);
    world.tick();
  };
  const gap = (member: Member): void => {
    if (!member.connected) return;
    const lost = random.below(world.lane.length - member.disk.cursor + 1);
    member.disk = { ...member.disk, cursor: member.disk.cursor + lost };
    world.feed(member.index, { kind: "gap" });
    world.disconnect(member.index);
    world.connect(member.index);
  };

  for (let i = 0; i < steps; i++) {
    const member = random.pick(honest);
    const { index } = member;
    if (random.chance(environment.crash)) world.crash(index);
    if (random.chance(environment.restart)) world.restart(index);
    if (random.chance(environment.disconnect)) world.disconnect(index);
    if (random.chance(environment.connect)) world.connect(index);
    if (random.chance(environment.gap)) gap(member);
    if (random.chance(deafness)) deaf.add(index);
    else if (random.chance(0.05)) deaf.delete(index);
    if (random.chance(environment.clockJump)) member.clockOffsetMs = random.below(7_200_000) - 3_600_000;
    if (member.disk.cursor > 0 && random.chance(environment.repeat)) repeat(member);
    if (random.chance(environment.mischief)) act();
    const choice = random.next();
    if (choice < 0.86) move(member);
    else if (choice < 0.92) submit(member);
    else letTimePass();
  }
  for (const member of honest.slice(0, authors))
    while ((submitted.get(member.index) ?? 0) < postsPerAuthor) submit(member);
};

/** Good weather for all but the last `absent` honest members, with the liars at work a while longer. */
const heal = (world: World, environment: Environment, random: Random, act: () => void): void => {
  const { n, byzantine, absent, nuisance } = environment;
  world.dies = () => false;
  for (const member of world.all.slice(0, n - byzantine)) {
    member.clockOffsetMs = 0;
    const isAbsent = member.index >= n - byzantine - absent;
    if (isAbsent || random.chance(0.3)) world.crash(member.index);
    if (isAbsent) continue;
    world.restart(member.index);
    world.connect(member.index);
  }
  for (let i = 0; i < (nuisance ? 300 : 20); i++) {
    act();
    calm(world, { horizonMs: 2_000, random });
  }
};

/** That the persisted intents of these members are certified. */
const askCertified = (present: ReadonlyArray<Member>): void => {
  for (const { index, disk } of present) {
    const waiting = disk.intents.filter(({ outcome }) => outcome === null).length;
    if (waiting > 0) throw new Violation(`I6: ${waiting} intents of member ${index} are not certified`);
  }
};

/** That these members hold the whole chain. */
const askWhole = (present: ReadonlyArray<Member>, certified: number): void => {
  const short = present.find(({ disk }) => disk.records.length !== certified);
  if (short !== undefined)
    throw new Violation(
      `I6: member ${short.index} holds ${short.disk.records.length} of ${certified} records`,
    );
};

/** That what one of these members has staged, they have certified: the collector may be gone, the record goes on. */
const askStaged = (present: ReadonlyArray<Member>): void => {
  const waiting = present.find(({ disk }) => disk.state.slot.durabilityVote !== null);
  if (waiting !== undefined)
    throw new Violation(`I6: member ${waiting.index} staged a record that stays uncertified`);
};

/** That nothing is left to do: no record is open and no timer runs. */
const askRest = (honest: ReadonlyArray<Member>, rested: boolean): void => {
  const busy = honest.find(({ disk }) => disk.state.open.length > 0);
  if (busy !== undefined) throw new Violation(`rest: member ${busy.index} keeps open records`);
  if (!rested) throw new Violation("rest: the conversation never comes to rest");
};

const decodeAll = (world: World): void => {
  world.onAccepted.push(({ packets }) => {
    for (const packet of packets)
      Packets.decode(JSON.parse(CanonicalJson.encode(packet as CanonicalJson.Json)) as CanonicalJson.Json);
  });
};

/** Runs one seed. `change` replaces parts of the drawn environment. */
export const simulate = (seed: number, change: Partial<Environment> = {}): Outcome => {
  const random = createRandom(seed);
  const environment = { ...draw(random), ...change };
  const { agents, registry, verifier } = createAgents(
    environment.n,
    `simulation ${environment.n}`,
    environment.realKeys,
  );
  const world = createWorld({ agents, trust: { verifier, registryKey: registry.publicKey } });
  const honest = world.all.slice(0, environment.n - environment.byzantine);
  const liars = world.all.slice(environment.n - environment.byzantine);
  for (const liar of liars) world.crash(liar.index);
  if (environment.opened) openConversation(world);
  const oracles = watch(world, new Set(liars.map(({ id }) => id)));
  if (environment.strict) decodeAll(world);
  const { nuisance } = environment;
  const byzantine = liars.length === 0 ? null : createByzantine({ world, members: liars, random, nuisance });
  const act = (): void => byzantine?.act();
  world.dies = () => random.chance(environment.die);
  storm(world, environment, random, act);
  heal(world, environment, random, act);
  const present = honest.slice(0, honest.length - environment.absent);
  const passes = (minutes: number): boolean => calm(world, { horizonMs: minutes * 60_000, random });
  passes(nuisance ? 2 : 10);
  if (mustLive(environment)) {
    if (environment.authors <= present.length) askCertified(present);
    askStaged(present);
  }
  for (const { index } of honest) world.restart(index);
  // Who missed the last evidence learns of it from the next: a conversation that goes on leaves nobody behind.
  if (mustLive(environment)) world.submit(0, "afterwards");
  const rested = passes(60);
  if (mustLive(environment)) {
    askCertified(honest);
    askWhole(honest, oracles.chain.length);
    askRest(honest, rested);
  }
  return { environment, certified: oracles.chain.length, steps: environment.steps };
};
