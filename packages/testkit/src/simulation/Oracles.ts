// The invariants, asked after every committed turn of an honest member, from the disks alone. A violation is an error that
// names its invariant; nothing here knows how a run came about. What signatures may say is Signatures.ts's, what a chain
// may look like Auditor.ts's; here are the disks. The clauses are HIS-80 to HIS-82.

import type { CompletedReanchor, HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Record from "@social-harness/protocol/history/Record";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import { begin } from "@social-harness/protocol/history/VerifiedChain";
import type { AgentId, AnchorHash, PostId } from "@social-harness/protocol/identity/Identifier";
import { createAuditor } from "./Auditor.ts";
import type { Outcome } from "./Disk.ts";
import type { Committed, Member, World } from "./FoldWorld.ts";
import { askAnchorNames, askHearsay, askMemory } from "./Hearsay.ts";
import { createSignatures } from "./Signatures.ts";
import { thresholdsOf, violate } from "./Violation.ts";

export interface Oracles {
  /** The certified chain as the first honest member to hold each record has it. */
  readonly chain: ReadonlyArray<HistoryRecord>;
}

/** Outcomes that promise that a post is in no chain and never will be. */
const promisedAbsent = (outcome: Outcome): boolean => outcome === "withdrawn" || outcome === "refused";

/** `isWhole`: all that honest members say comes from their folds. Stories write words in members' names by hand. */
export const watch = (world: World, byzantine: ReadonlySet<AgentId>, isWhole = false): Oracles => {
  const { members, trust } = world;
  const { quorum, holders, actionOf } = thresholdsOf(members.n);
  const honest = world.all.filter(({ id }) => !byzantine.has(id));
  const isHonest = ({ id }: Member): boolean => !byzantine.has(id);
  const signatures = createSignatures(members.n, byzantine);
  const auditor = createAuditor({ ids: members.ids, byzantine, made: signatures.made });
  /** The product's own verification, of the chain as it is first certified. */
  const verified = begin(trust);
  const chain: Array<HistoryRecord> = [...(honest[0]?.disk.records ?? [])];
  for (const record of chain) verified.take(record);
  /** Records that stood on the disks from the start. */
  const prior = new Set(chain.map(({ recordHash }) => recordHash));
  const posted = new Set<string>();
  const absent = new Set<string>();
  /** By round, the anchor that was first accepted for it. */
  const accepted = new Map<number, AnchorHash>();
  /** Which round each leader completed, over its whole life. */
  const completions = new Set<string>();
  const lastPlaces = new Map<AgentId, number>();
  /** Who sent a proposal of which record. */
  const sent = new Set<string>();

  const postOf = ({ recordCore: { action } }: HistoryRecord): string =>
    `${action.authorAgentId} ${action.postIntent.postId}`;

  /** I4: each post is certified once, and an honest author's posts in the order of its intents. */
  const askI4 = (record: HistoryRecord): void => {
    const { authorAgentId, height, postIntent } = record.recordCore.action;
    const post = postOf(record);
    if (posted.has(post)) violate("I4", `a post is certified twice at ${height}`);
    if (absent.has(post)) violate("I4", `a post is certified at ${height} that its author was told is not`);
    posted.add(post);
    const author = honest.find(({ id }) => id === authorAgentId);
    // An author without its memory does not know what it wrote, nor which of its posts are on their way.
    if (author === undefined || author.hasForgotten) return;
    const place = author.disk.intents.findIndex(({ intent }) => intent.postId === postIntent.postId);
    // Stories write proposals in members' names, and pass them on by hand.
    if (place < 0 && world.isTold) return;
    if (place < 0) violate("I4", `a post of ${author.index} is certified at ${height} that it never wrote`);
    if (place < (lastPlaces.get(authorAgentId) ?? -1))
      violate("I4", `the posts of ${author.index} are certified out of its order`);
    lastPlaces.set(authorAgentId, place);
  };

  const askVerification = (record: HistoryRecord): void => {
    try {
      verified.take(record);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      violate("verification", error.message);
    }
  };

  const takeCommit = (member: Member, record: HistoryRecord, below: ReadonlyArray<HistoryRecord>): void => {
    const { height, authorAgentId } = record.recordCore.action;
    const certified = chain[height];
    const signers = record.actionSignatures.map(({ signerAgentId }) => signerAgentId);
    if (signers.length < actionOf(height) || !signers.includes(authorAgentId))
      violate("threshold", `height ${height} was certified by too few action votes, or without its author's`);
    if (record.durabilityVotes.length < quorum)
      violate("threshold", `height ${height} was certified by too few durability votes`);
    if (certified === undefined) {
      if (height !== chain.length) violate("I1", `height ${height} was certified before the one below it`);
      askI4(record);
      chain.push(record);
      askVerification(record);
    } else if (certified.recordHash !== record.recordHash) {
      violate("I1", `member ${member.index} certified another record at height ${height}`);
    }
    auditor.askRecord(record, below);
    askI2(record);
  };

  const holds = ({ disk }: Member, { recordHash, recordCore }: HistoryRecord): boolean =>
    disk.cores.has(recordHash) || disk.records[recordCore.action.height]?.recordHash === recordHash;

  /** I2: a certified record is on the disks of q(n) - f honest members, of all when n < 4. Who lost its memory is excused. */
  const askI2 = (record: HistoryRecord): void => {
    const isExcused = ({ forgot, disk }: Member): boolean => forgot || disk.state.restored !== null;
    const count = honest.filter((member) => isExcused(member) || holds(member, record)).length;
    if (count < holders) violate("I2", `${count} honest members hold a certified record, not ${holders}`);
  };

  /** I3: nothing certified or staged is lost. */
  const askI3 = ({ member, before, after }: Committed): void => {
    if (after.records !== before.records) {
      const kept = before.records.every((record, i) => after.records[i]?.recordHash === record.recordHash);
      if (!kept) violate("I3", `member ${member.index} lost a certified record`);
    }
    const staged = before.state.slot.durabilityVote;
    if (staged === null || after.cores.has(staged)) return;
    const certified = after.records.some(({ recordHash }) => recordHash === staged);
    // A later round that carries another record, or in which another has a certificate, has shown that nobody can certify this
    // one.
    const { anchor } = after.state;
    const isOvertaken =
      anchor !== null &&
      anchor.round > (before.state.anchor?.round ?? 0) &&
      (anchor.carried !== null ||
        after.records.length > before.records.length ||
        after.state.open.some((open) => Object.keys(open.action).length >= quorum));
    // Who is bound to a round beyond that one does not accept its anchor any more, but commits what was certified in it.
    const isOutvoted = after.records
      .slice(before.records.length)
      .some(
        ({ routerAnchor, durabilityAnchor }) =>
          Reanchor.bodyOf(durabilityAnchor ?? routerAnchor).round > (before.state.anchor?.round ?? 0),
      );
    if (!certified && !isOvertaken && !isOutvoted)
      violate("I3", `member ${member.index} lost a record that it had staged`);
  };

  /** I5: one pending row for each remote post, in chain order; and the cores are exactly those of open records. */
  const askRows = ({ member, before, after }: Committed): void => {
    if (after.cores !== before.cores || after.state.open !== before.state.open) {
      const open = after.state.open.map(({ recordHash }) => recordHash);
      if (open.length !== after.cores.size || open.some((recordHash) => !after.cores.has(recordHash)))
        violate("disk", `member ${member.index} keeps other cores than those of its open records`);
    }
    if (after.records === before.records && after.pending === before.pending) return;
    const remote = after.records.filter(
      ({ recordCore, recordHash }) => recordCore.action.authorAgentId !== member.id && !prior.has(recordHash),
    );
    if (remote.length !== after.pending.length || remote.some((r, i) => r.recordHash !== after.pending[i]))
      violate("I5", `member ${member.index} has other pending rows than its remote posts in chain order`);
  };

  /** What an honest leader completes a round from has been proven: heads and preparations are never mere claims. */
  const askClaims = ({ body, statements }: CompletedReanchor): void => {
    if (byzantine.has(leaderOf(body.round))) return;
    for (const { head, prepared } of statements) {
      const claims = { head: head !== null && prior.has(head.recordHash) ? null : head, prepared };
      if (!signatures.provable(claims))
        violate("statement", `round ${body.round} rests on a claim that nothing can prove`);
    }
  };

  /**
   * Whoever leads: what an accepted round carries was prepared in the round that decided for it, or later. What is certified
   * is carried by right, whatever was claimed for it.
   */
  const askCarried = (member: Member, { body, statements }: CompletedReanchor): void => {
    const { carriedRecordHash } = body;
    if (carriedRecordHash === null || prior.has(carriedRecordHash)) return;
    if (member.disk.records.some(({ recordHash }) => recordHash === carriedRecordHash)) return;
    const height = 1 + Math.max(...statements.map(({ head }) => head?.height ?? -1));
    const claimed = statements.map(({ prepared }) =>
      prepared?.recordHash === carriedRecordHash && prepared.height === height ? prepared.round : -1,
    );
    if (signatures.preparedIn(carriedRecordHash) < Math.max(...claimed))
      violate("statement", `round ${body.round} carries a record by a claim that nothing can prove`);
  };

  const leaderOf = (round: number): AgentId => members.ids[round % members.n] as AgentId;

  /** Whoever accepts an anchor has the chain up to its base on disk, and the record that it carries. */
  const askFooting = (member: Member, { body }: CompletedReanchor): void => {
    const { records, cores } = member.disk;
    const isCertified = (hash: string): boolean => records.some(({ recordHash }) => recordHash === hash);
    const { baseRecordHash: base, carriedRecordHash: carried, round } = body;
    if (base !== null && !isCertified(base))
      violate("footing", `member ${member.index} accepted round ${round} without the chain up to its base`);
    if (carried !== null && !isCertified(carried) && !cores.has(carried))
      violate("footing", `member ${member.index} accepted round ${round} without the record that it carries`);
    const above = carried === null ? undefined : cores.get(carried);
    if (above !== undefined && above.action.previousRecordHash !== base)
      violate(
        "footing",
        `member ${member.index} accepted round ${round}, which carries what stands elsewhere`,
      );
    const below = records.find(({ recordHash }) => recordHash === base)?.recordCore.anchorHash ?? null;
    if (below !== body.previousAnchorHash)
      violate("footing", `member ${member.index} accepted round ${round}, which follows another anchor`);
  };

  /** An honest leader completes its round once, and from anybody else nothing is accepted: its round has one anchor. */
  const askAnchor = ({ member, commands, before, after }: Committed): void => {
    for (const command of commands) {
      if (command.kind !== "keep-anchor" || command.anchor.kind !== "completed_reanchor") continue;
      auditor.askReanchor(command.anchor);
      askClaims(command.anchor);
    }
    const { anchor, rounds } = after.state;
    if (rounds.completed > before.state.rounds.completed) {
      const completion = `${member.id} ${rounds.completed}`;
      if (completions.has(completion))
        violate("leader", `member ${member.index} completed round ${rounds.completed} twice`);
      completions.add(completion);
    }
    if (anchor === null || anchor.anchorHash === before.state.anchor?.anchorHash) return;
    if (anchor.round > 0 && anchor.round === before.state.anchor?.round)
      violate("leader", `member ${member.index} accepted two anchors of round ${anchor.round}`);
    const whole = after.anchors.get(anchor.anchorHash);
    if (whole?.kind !== "completed_reanchor") return;
    askCarried(member, whole);
    askFooting(member, whole);
    const first = accepted.get(anchor.round);
    if (first === undefined) accepted.set(anchor.round, anchor.anchorHash);
    else if (first !== anchor.anchorHash && !byzantine.has(leaderOf(anchor.round)))
      violate("leader", `member ${member.index} accepted a second anchor of round ${anchor.round}`);
  };

  /** At the first height of a later round nobody locks what its leader has not sent. */
  const askLock = ({ member, before, after }: Committed): void => {
    const { anchor, slot } = after.state;
    if (world.isTold || slot.lock === null || slot.lock === before.state.slot.lock) return;
    if (anchor === null || anchor.round === 0 || sent.has(`${leaderOf(anchor.round)} ${slot.lock}`)) return;
    const opens = (anchor.base?.height ?? -1) + (anchor.carried === null ? 1 : 2);
    if (after.records.length === opens)
      violate(
        "leader",
        `member ${member.index} opened round ${anchor.round} with what its leader never sent`,
      );
  };

  /** A proposal is made only while the slot is free of another's lock. */
  const askProposal = ({ member, before, after, commands }: Committed): void => {
    const { lock } = before.state.slot;
    const made = before.state.proposal === null && after.state.proposal !== null;
    const sameSlot =
      !commands.some(({ kind }) => kind === "commit") &&
      before.state.anchor?.round === after.state.anchor?.round;
    const isFreed = lock !== null && after.state.voids.some(({ recordHash }) => recordHash === lock);
    if (made && sameSlot && lock !== null && !isFreed)
      violate("proposal", `${member.index} proposed over another's lock`);
  };

  /** What the old disk was about to propose may have been proposed, and more: without its memory nobody says it again. */
  const askOldIntents = ({ member, before, after }: Committed): void => {
    const { restored, proposal } = after.state;
    if (restored === null || proposal === null || proposal.postId === before.state.proposal?.postId) return;
    const intent = after.intents.find((stored) => stored.intent.postId === proposal.postId);
    if (intent !== undefined && intent.createdAt <= restored.at)
      violate("memory", `${member.index} proposed anew what it may have proposed before its loss`);
  };

  /** What an author is told about its post is true. */
  const askOutcome = ({ index, id }: Member, outcome: Outcome, postId: PostId): void => {
    const post = `${id} ${postId}`;
    if (outcome === "certified" && !posted.has(post))
      violate("I4", `${index} was told of a certified post that is not`);
    if (!promisedAbsent(outcome)) return;
    if (posted.has(post)) violate("I4", `${index} was told that a certified post is not`);
    absent.add(post);
  };

  world.onCommitted.push((committed) => {
    const { member, before, commands } = committed;
    if (isWhole) askMemory(committed);
    if (!isHonest(member)) return;
    signatures.take(committed);
    if (isWhole) askHearsay(committed, signatures, (id) => !byzantine.has(id));
    askAnchorNames(committed);
    let below = before.records;
    for (const command of commands) {
      if (command.kind !== "commit") continue;
      takeCommit(member, command.record, below);
      below = [...below, command.record];
    }
    for (const command of commands)
      if (command.kind === "intent-ended") askOutcome(member, command.outcome, command.postId);
    askI3(committed);
    askRows(committed);
    askAnchor(committed);
    askLock(committed);
    askProposal(committed);
    askOldIntents(committed);
  });
  world.onAccepted.push(({ from, packets }) => {
    for (const packet of packets)
      if (packet.kind === "proposal_packet") sent.add(`${from} ${Record.recordHashOf(packet.recordCore)}`);
    if (byzantine.has(from)) return;
    for (const packet of packets) signatures.askSent(from, packet);
  });
  return { chain };
};
