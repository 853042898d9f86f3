// After the storm: the Router is correct, links and disks hold, clocks agree. Then whatever honest members had persisted
// must end, nobody is left behind, and the conversation comes to rest. The clauses are HIS-43, HIS-84 and I6.

import { faultsOf } from "@social-harness/protocol/history/Quorum";
import type { PostId } from "@social-harness/protocol/identity/Identifier";
import { calm } from "./Calm.ts";
import type { Member, World } from "./FoldWorld.ts";
import { mix } from "./Random.ts";
import type { Environment } from "./Environment.ts";
import type { Run } from "./Storm.ts";
import { violate } from "./Violation.ts";

/** Whether a quorum is left that can certify: GENESIS asks for everybody, so a liar may keep one from being. */
const mustLive = ({ n, byzantine, opened, restored }: Environment): boolean => {
  const faulty = n < 4 ? 0 : faultsOf(n);
  // Fewer than four members all vote, and one without its memory does again after a round of all of them.
  const without = n < 4 ? 0 : restored;
  return byzantine + without <= faulty && (opened || byzantine + restored === 0);
};

/** Members that know all that they ever signed, or know again that none of it counts any more. */
const remembering = (members: ReadonlyArray<Member>): ReadonlyArray<Member> =>
  members.filter(({ disk }) => disk.state.restored === null);

/** Good weather for all but the last `absent` honest members, with the liars at work a while longer. */
const heal = (run: Run): void => {
  const { world, environment, honest, random, act, note } = run;
  note("the storm is over");
  world.dies = () => false;
  world.refuses = () => false;
  world.admits = () => true;
  world.routerUp = true;
  world.forkRouter(null);
  const isDoubted = environment.router === "equivocates" || environment.router === "rolls-back";
  if (isDoubted && random.chance(0.5)) world.replaceRouter();
  for (const member of honest) {
    member.clockOffsetMs = 0;
    member.isolated = false;
    const isAbsent = member.index >= honest.length - environment.absent;
    if (isAbsent || random.chance(0.3)) world.crash(member.index);
    if (isAbsent) continue;
    world.disconnect(member.index);
    world.restart(member.index);
    world.connect(member.index);
  }
  if (environment.byzantine === 0) return;
  for (let i = 0; i < (environment.nuisance ? 300 : 20); i++) {
    if (environment.mischief > 0) act();
    calm(world, { horizonMs: 2_000, random });
  }
};

/** How long liars go on splitting slots. */
const splittingMs = 600_000;

/**
 * Liars who split every slot as it opens slow a conversation down and do not stop it: the first slot of a round is its
 * leader's, and sooner or later an honest one leads.
 */
const askProgress = (
  { world, random, split, note }: Run,
  present: ReadonlyArray<Member>,
  certified: () => number,
): void => {
  const before = certified();
  const opened = new Set<string>();
  let isOver = false;
  note("liars split every slot as it opens");
  const splitOpen = (member: Member): void => {
    const { head, anchor } = member.disk.state;
    const slot = `${head?.recordHash} ${anchor?.anchorHash}`;
    if (isOver || opened.has(slot)) return;
    opened.add(slot);
    split(member);
  };
  world.onCommitted.push(({ member }) => splitOpen(member));
  const isWaiting = (): boolean =>
    present.some(({ disk }) => disk.intents.some(({ outcome }) => outcome === null));
  for (const member of present) splitOpen(member);
  for (const { index } of present) world.submit(index, `post of ${index} among liars`);
  calm(world, { horizonMs: splittingMs, random });
  isOver = true;
  if (isWaiting() && certified() === before)
    violate("I6", "liars who split slots keep everything from being certified");
};

/** A withdrawn post whose round has gone waits for the next record at its height; without one nobody can say. */
const isLeftToNext = ({ disk }: Member, postId: PostId): boolean =>
  disk.state.withdrawing.some((withdrawn) => withdrawn.postId === postId && withdrawn.height !== null);

/** That the persisted intents of these members have ended. `isLast`: nothing more is to come. */
const askEnded = (present: ReadonlyArray<Member>, isLast: boolean): void => {
  for (const member of present) {
    const { index, disk } = member;
    const waiting = disk.intents.filter(
      ({ outcome, intent }) => outcome === null && (isLast || !isLeftToNext(member, intent.postId)),
    ).length;
    if (waiting > 0) violate("I6", `${waiting} intents of member ${index} are not certified`);
  }
};

/** That these members hold the whole chain. */
const askWhole = (present: ReadonlyArray<Member>, certified: number): void => {
  const short = present.find(({ disk }) => disk.records.length !== certified);
  if (short !== undefined)
    violate("I6", `member ${short.index} holds ${short.disk.records.length} of ${certified} records`);
};

/** That what one of these members has staged, they have certified: the collector may be gone, the record goes on. */
const askStaged = (present: ReadonlyArray<Member>): void => {
  const waiting = present.find(({ disk }) => disk.state.slot.durabilityVote !== null);
  if (waiting !== undefined) violate("I6", `member ${waiting.index} staged a record that stays uncertified`);
};

/** That nothing is left to do: no timer runs, and no record is open unless a liar proposed what nobody will vote for. */
const askRest = ({ environment }: Run, honest: ReadonlyArray<Member>, rested: boolean): void => {
  const busy = honest.find(({ disk }) => disk.state.open.length > 0);
  const isDone = environment.byzantine === 0 || (environment.nuisance && environment.scheme === null);
  if (isDone && busy !== undefined) violate("rest", `member ${busy.index} keeps open records`);
  // Who waits for a round of the others goes on saying so.
  const isWaiting = remembering(honest).length < honest.length && environment.n > 3;
  if (!rested && !isWaiting) violate("rest", "the conversation never comes to rest");
};

const restartAll = (world: World, members: ReadonlyArray<Member>): void => {
  for (const { index } of members) {
    world.restart(index);
    world.connect(index);
  }
};

/** For the trace: where each member stands. */
const noteStandings = ({ honest, note }: Run): void => {
  for (const { index, up, disk } of honest) {
    const { head, anchor, rounds, slot, behind, open } = disk.state;
    const words = [
      `${index}${up ? "" : " (down)"} stands at height ${head?.height ?? "none"}`,
      `round ${anchor?.round ?? "none"}${rounds.bound === (anchor?.round ?? 0) ? "" : `, bound to ${rounds.bound}`}`,
      `${open.length} open records`,
      ...(slot.lock === null ? [] : ["a lock"]),
      ...(slot.durabilityVote === null ? [] : ["a staged record"]),
      ...(behind === null
        ? []
        : [`behind${behind.gap ? " by a gap" : ""}${behind.missing === null ? "" : ", missing a core"}`]),
    ];
    note(words.join(", "));
  }
};

/** Calms the world and asks for what must have come of the run. `certified` counts the chain as it then is. */
export const settleDown = (run: Run, certified: () => number): void => {
  const { seed, world, environment, random } = run;
  random.reseed(mix(seed, environment.steps + 1));
  heal(run);
  const { honest } = run;
  const isLive = mustLive(environment);
  const present = honest.filter(({ index }) => index < honest.length - environment.absent);
  if (environment.splitting && environment.mischief > 0 && isLive) askProgress(run, present, certified);
  const passes = (minutes: number): boolean => calm(world, { horizonMs: minutes * 60_000, random });
  passes(environment.nuisance ? 2 : 10);
  noteStandings(run);
  if (isLive) {
    if (environment.authors <= present.length) askEnded(remembering(present), false);
    askStaged(present);
  }
  restartAll(world, honest);
  // Who missed the last evidence learns of it from the next: a conversation that goes on leaves nobody behind.
  if (isLive) world.submit(honest[0]?.index ?? 0, "afterwards");
  // In a large group several lying leaders may follow one another, and who misses something asks one member a minute.
  const rested = passes(60 + 2 * environment.n);
  noteStandings(run);
  if (!isLive) return;
  askEnded(remembering(honest), true);
  askWhole(honest, certified());
  askRest(run, honest, rested);
};
