// The storm of a run: one thing after another, each decided by the seed and the step's number alone, so that any step can be
// left out and the others stay what they were as far as the world lets them.

import type { Packet } from "@social-harness/protocol/conversation/Packet";
import type { Content } from "@social-harness/protocol/history/Content";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import type { Disk } from "./Disk.ts";
import { slip } from "./FarRounds.ts";
import type { Envelope, Member, World } from "./FoldWorld.ts";
import type { Ingress, StoreBackup } from "./Ingress.ts";
import { mix, type Random } from "./Random.ts";
import type { Environment } from "./Environment.ts";

export interface Run {
  readonly seed: number;
  readonly world: World;
  readonly environment: Environment;
  readonly honest: ReadonlyArray<Member>;
  readonly random: Random;
  /** What a Byzantine member does next. */
  readonly act: () => void;
  /** What one does to split the open slot. */
  readonly split: (near: Member) => void;
  /** The stores and hosts of honest members, in runs that have them. */
  readonly ingress: Ingress | null;
  /** What a post says in the run, by its text. */
  readonly say: (text: string) => string | Content;
  /** For the trace: what the storm itself does. */
  readonly note: (line: string) => void;
}

export interface StormOptions {
  /** Steps that are left out. */
  readonly omit: ReadonlySet<number>;
  /** Called before each step. */
  readonly onStep: (step: number) => void;
}

/** How long a spell lasts: it ends in each step with this probability. */
const spellEnds = 0.03;

const certifying: ReadonlySet<Packet["kind"]> = new Set([
  "vote_packet",
  "action_certificate",
  "certified_notice",
]);

/** Which envelopes of the lane may be lost at all. */
const mayBeLost = (packets: ReadonlyArray<Packet>, of: Environment["laneLossOf"]): boolean => {
  switch (of) {
    case "any":
      return true;
    case "proposals":
      return packets.some(({ kind }) => kind === "proposal_packet");
    case "evidence":
      return packets.every(({ kind }) => kind !== "proposal_packet");
    case "certificates":
      return packets.every(({ kind }) => certifying.has(kind));
  }
};

/** Envelopes that move, and posts that are written. */
const traffic = ({ world, environment, random, honest, say }: Run) => {
  const { authors, postsPerAuthor, laneLoss, laneLossOf, deafness } = environment;
  const submitted = new Map<number, number>();
  const deaf = new Set<number>();

  const deliverLane = (member: Member): boolean => {
    const next = member.lane[member.disk.cursor];
    const mayMiss = next !== undefined && mayBeLost(next.packets, laneLossOf);
    const misses = deafness > 0 ? deaf.has(member.index) : random.chance(laneLoss);
    return world.deliverLane(member.index, mayMiss && misses);
  };
  const deliverFromBag = (member: Member): boolean => {
    if (member.bag.length === 0 || !member.connected) return false;
    const place = random.below(member.bag.length);
    if (random.chance(environment.bagLoss)) return member.bag.splice(place, 1).length > 0;
    return world.deliverFromBag(member.index, place, random.chance(environment.repeat));
  };
  const submit = (member: Member): void => {
    const count = submitted.get(member.index) ?? 0;
    if (member.index >= authors || count === postsPerAuthor) return;
    submitted.set(member.index, count + 1);
    world.submit(member.index, say(`post ${count} of ${member.index}`));
  };
  return {
    submit,
    submitRest: (): void => {
      for (const member of honest.slice(0, authors))
        while ((submitted.get(member.index) ?? 0) < postsPerAuthor) submit(member);
    },
    /** One envelope leaves or arrives, if any is there for this member. */
    move: (member: Member): void => {
      const ways = [() => deliverLane(member), () => deliverFromBag(member), () => world.flush(member.index)];
      const first = random.below(ways.length);
      for (let i = 0; i < ways.length; i++) if (ways[(first + i) % ways.length]?.() === true) return;
    },
    repeat: (member: Member): void => {
      const read = member.lane.slice(0, member.disk.cursor);
      if (read.length === 0) return;
      const envelope: Envelope = random.pick(read);
      if (!envelope.closedTo.has(member.id)) world.redeliver(member.index, envelope);
    },
    toggleDeafness: ({ index }: Member): void => {
      if (random.chance(deafness)) deaf.add(index);
      else if (random.chance(0.05)) deaf.delete(index);
    },
  };
};

interface Backup {
  readonly disk: Disk;
  readonly store: StoreBackup | null;
}

/** What befalls single members. */
const accidents = ({ world, environment, random, honest, ingress, note }: Run) => {
  const full = new Set<number>();
  /** Members that let nobody open the conversation. */
  const closed = new Set<number>();
  const backups = new Map<number, Backup>();
  const restored = new Set<number>();
  world.dies = ({ index }) => {
    const dies = random.chance(environment.die);
    if (dies) note(`${index} dies, and the turn with it`);
    return dies;
  };
  world.refuses = ({ index }) => full.has(index);
  world.admits = ({ index }) => !closed.has(index);

  const gap = (member: Member): void => {
    if (!member.connected) return;
    const lost = random.below(member.lane.length - member.disk.cursor + 1);
    note(`${member.index} has a gap of ${lost} envelopes`);
    member.disk = { ...member.disk, cursor: member.disk.cursor + lost };
    world.feed(member.index, { kind: "gap" });
    world.disconnect(member.index);
    world.connect(member.index);
  };
  const partition = (): void => {
    const cut = honest.filter(() => random.chance(0.4));
    note(`cut off: ${cut.map(({ index }) => index).join(", ")}`);
    for (const member of cut) {
      member.isolated = true;
      world.disconnect(member.index);
    }
  };
  /**
   * How likely a disk comes back now. The worst moments are those when the vote for an open slot is forgotten, above all one of
   * a round that the old disk knows nothing of, or a round that its leader completed.
   */
  const lossOf = ({ disk: { state } }: Member, { state: old }: Disk): number => {
    const { actionVote, durabilityVote } = state.slot;
    const hasVoted = actionVote !== null || durabilityVote !== null;
    const isOtherRound = (state.anchor?.round ?? 0) > (old.anchor?.round ?? 0);
    if (state.rounds.completed > old.rounds.completed && old.rounds.own !== null) return 0.15;
    return hasVoted && isOtherRound ? 0.15 : hasVoted ? 0.05 : 0.01;
  };
  /** Where nobody tells a member that its disk is old, it is the last one: it counts as a liar until then. */
  const mayForget = ({ index }: Member): boolean =>
    environment.silent
      ? index === honest.length - 1
      : restored.has(index) || restored.size < environment.restored;
  const copyOf = (member: Member): Backup => ({
    disk: member.disk,
    store: ingress?.backUp(member) ?? null,
  });
  /** Keeps a copy of a disk, a later one now and then, and one day puts it back. */
  const backUpOrRestore = (member: Member): void => {
    const backup = backups.get(member.index);
    if (backup === undefined || random.chance(0.03)) {
      if (random.chance(0.1)) backups.set(member.index, copyOf(member));
    } else if (
      mayForget(member) &&
      backup.disk !== member.disk &&
      random.chance(lossOf(member, backup.disk))
    ) {
      restored.add(member.index);
      note(`${member.index}'s disk comes back as it was at height ${backup.disk.records.length - 1}`);
      world.restore(member.index, backup.disk, !environment.silent);
      if (backup.store !== null) ingress?.putBack(member, backup.store);
    }
  };
  /** A later round left the own proposal behind: there a withdrawal comes at its worst. */
  const mayComeBack = ({ disk: { state } }: Member): boolean => {
    const { anchor, everProposed, head } = state;
    return (
      everProposed !== null && anchor !== null && anchor.round > 0 && anchor.base?.height === head?.height
    );
  };
  const withdraw = ({ index, disk }: Member): void => {
    const waiting = disk.intents.filter(({ outcome }) => outcome === null);
    if (waiting.length === 0) return;
    // What was proposed already is the harder case: it may be certified yet.
    const proposed = waiting.filter(({ intent }) => intent.postId === disk.state.everProposed);
    const pool = proposed.length > 0 || random.chance(0.5) ? proposed : waiting;
    if (pool.length === 0) return;
    note(`${index}'s owner withdraws a post`);
    world.feed(index, { kind: "withdraw", postId: random.pick(pool).intent.postId });
  };
  const changePolicy = ({ index }: Member): void => {
    if (closed.delete(index)) note(`${index} lets the others in`);
    else closed.add(index);
  };
  const jump = (member: Member): void => {
    member.clockOffsetMs = random.below(7_200_000) - 3_600_000;
    note(`${member.index}'s clock jumps to ${member.clockOffsetMs} ms`);
  };
  /** Answers to questions of before, which its Router still had. */
  const answers = new Map<AgentId, Array<Envelope>>();
  if (environment.lateAnswers > 0)
    world.onAccepted.push((envelope, to) => {
      if (to === "lane" || !envelope.packets.some(({ kind }) => kind === "catch_up_page")) return;
      answers.set(to, [...(answers.get(to) ?? []), envelope]);
    });
  const answerLate = (member: Member): void => {
    const late = answers.get(member.id) ?? [];
    if (late.length > 0) world.redeliver(member.index, random.pick(late));
  };
  return (member: Member): void => {
    const { index } = member;
    if (random.chance(environment.crash) && member.up) {
      note(`${index} crashes`);
      world.crash(index);
    }
    if (random.chance(environment.restart)) world.restart(index);
    if (random.chance(environment.disconnect)) world.disconnect(index);
    if (random.chance(environment.connect)) world.connect(index);
    if (random.chance(environment.gap)) gap(member);
    if (random.chance(environment.clockJump)) jump(member);
    if (random.chance(environment.partition)) partition();
    else if (member.isolated && random.chance(spellEnds)) member.isolated = false;
    if (random.chance(environment.diskFull)) full.add(index);
    else if (random.chance(spellEnds)) full.delete(index);
    if (random.chance(environment.ownerWish)) {
      note(`${index}'s owner wishes a round`);
      world.feed(index, { kind: "wish-round" });
    }
    if (random.chance(environment.ownerWithdraw * (mayComeBack(member) ? 10 : 1))) withdraw(member);
    if (random.chance(environment.contactPolicy)) changePolicy(member);
    if (environment.restored > 0) backUpOrRestore(member);
    if (environment.lateAnswers > 0 && member.disk.state.restored !== null)
      if (random.chance(environment.lateAnswers)) answerLate(member);
    if (environment.slip > 0 && random.chance(environment.slip)) {
      note(`${index} wishes for a round far away`);
      slip(world, member, random);
    }
  };
};

/** What the Router does by its kind. Returns whether it serves anybody in this step. */
const routerFaults = ({ world, environment, random, honest, note }: Run): (() => boolean) => {
  const { router, routerFault } = environment;
  let isSlow = false;
  let forked = false;
  const strike: { readonly [K in Environment["router"]]: () => void } = {
    correct: () => undefined,
    slow: () => {
      isSlow = !isSlow;
      note(isSlow ? "the Router becomes slow" : "the Router is itself again");
    },
    restarts: () => {
      note("the Router crashes");
      world.routerUp = false;
      for (const { index } of world.all) world.disconnect(index);
    },
    "rolls-back": () => {
      const length = world.lane.length - random.below(Math.min(world.lane.length, 12) + 1);
      note(`the Router comes back with ${length} envelopes of ${world.lane.length}`);
      world.rollBackRouter(length, random);
    },
    replaced: () => {
      const returns = random.chance(0.2);
      note(returns ? "a Router of earlier comes back" : "a fresh Router takes the other's place");
      world.replaceRouter(returns ? random : undefined);
      for (const { index } of honest) if (random.chance(0.5)) world.disconnect(index);
    },
    equivocates: () => {
      forked = !forked || random.chance(0.7);
      note(forked ? "the Router shows everybody another order" : "the Router shows one order again");
      world.forkRouter(forked ? random : null);
    },
  };
  return () => {
    if (random.chance(routerFault)) strike[router]();
    if (!world.routerUp && random.chance(spellEnds)) world.routerUp = true;
    // Two members compare what they were shown, and one of them has a proof.
    if (forked && random.chance(0.02)) world.feed(random.pick(honest).index, { kind: "wish-round" });
    if (router === "replaced")
      for (const { index } of honest) if (random.chance(0.02)) world.disconnect(index);
    return !isSlow || random.chance(0.1);
  };
};

export const storm = (run: Run, { omit, onStep }: StormOptions): void => {
  const { seed, world, environment, honest, random, act } = run;
  const { submit, submitRest, move, repeat, toggleDeafness } = traffic(run);
  const befall = accidents(run);
  const routerServes = routerFaults(run);
  const letTimePass = (): void => {
    world.now += random.chance(0.8) ? random.below(400) : random.below(20_000);
    world.tick();
  };
  for (let step = 0; step < environment.steps; step++) {
    if (omit.has(step)) continue;
    onStep(step);
    random.reseed(mix(seed, step));
    run.ingress?.onStep(step);
    const member = random.pick(honest);
    befall(member);
    toggleDeafness(member);
    if (random.chance(environment.repeat)) repeat(member);
    if (random.chance(environment.mischief)) act();
    const serves = routerServes();
    const choice = random.next();
    if (choice < 0.86 && serves) move(member);
    else if (choice < 0.92 && choice >= 0.86) submit(member);
    else letTimePass();
  }
  onStep(environment.steps);
  random.reseed(mix(seed, environment.steps));
  run.ingress?.onStep(environment.steps);
  submitRest();
};
