// The invariants, asked after every committed turn of an honest member, from the disks alone. A violation is an error that
// names its invariant; nothing here knows how a run came about. The clauses are HIS-23, HIS-34 and HIS-80 to HIS-83.

import type { Packet } from "@social-harness/protocol/conversation/Packet";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import { ancestryOf } from "@social-harness/protocol/history/VerifiedChain";
import { type ChainHead, verifyNext } from "@social-harness/protocol/history/VerifyRecord";
import type { AgentId, AnchorHash, RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { OwnVote } from "./Disk.ts";
import type { Committed, Member, World } from "./FoldWorld.ts";

export class Violation extends Error {
  override readonly name = "Violation";
}

const violate = (invariant: string, message: string): never => {
  throw new Violation(`${invariant}: ${message}`);
};

/** Who signed for a record, Byzantine members left out: they are taken to have signed everything. */
interface Support {
  readonly height: number;
  readonly author: AgentId;
  readonly action: Set<AgentId>;
  /** By the anchor that the votes stand under. */
  readonly durability: Map<AnchorHash, Set<AgentId>>;
}

/** The thresholds in the oracle's own words: a fold that lowers one must not lower the other with it. */
const thresholdsOf = (n: number) => {
  const faulty = n < 4 ? 0 : Math.ceil(n / 3) - 1;
  const quorum = n - faulty;
  return { quorum, holders: quorum - faulty, actionOf: (height: number) => (height === 0 ? n : quorum) };
};

export interface Oracles {
  /** The certified chain as the first honest member to hold each record has it. */
  readonly chain: ReadonlyArray<HistoryRecord>;
}

export const watch = (world: World, byzantine: ReadonlySet<AgentId>): Oracles => {
  const { members, trust } = world;
  const { n } = members;
  const { quorum, holders: holdersMin, actionOf } = thresholdsOf(n);
  const support = new Map<RecordHash, Support>();
  const certifiable = new Map<number, RecordHash>();
  const chain: Array<HistoryRecord> = [...(world.all.find(isHonest)?.disk.records ?? [])];
  const heads = new Map<AgentId, ChainHead>();
  const signatures = new Map<AgentId, Map<string, OwnVote>>();

  function isHonest({ id }: Member): boolean {
    return !byzantine.has(id);
  }

  const headOf = (records: ReadonlyArray<HistoryRecord>): ChainHead | null => {
    const last = records.at(-1);
    if (last === undefined) return null;
    const { height } = last.recordCore.action;
    const { round } = Reanchor.bodyOf(last.routerAnchor);
    return { members, height, round, recordHash: last.recordHash, anchorHash: last.recordCore.anchorHash };
  };

  /** I1, strong: from all signatures ever made, no two records of one height can be certified. */
  const askI1 = (recordHash: RecordHash, { height, author, action, durability }: Support): void => {
    const byAll = (signers: ReadonlySet<AgentId>): number => signers.size + byzantine.size;
    const acted = byAll(action) >= actionOf(height) && (action.has(author) || byzantine.has(author));
    if (!acted || ![...durability.values()].some((signers) => byAll(signers) >= quorum)) return;
    const other = certifiable.get(height);
    if (other === undefined) certifiable.set(height, recordHash);
    else if (other !== recordHash) violate("I1", `two records can be certified at height ${height}`);
  };

  const takeVote = (member: Member, vote: OwnVote): void => {
    const voted = support.get(vote.recordHash);
    if (voted === undefined)
      return violate("staging", `${member.index} signed for a record it does not hold`);
    if (vote.vote === "action") voted.action.add(member.id);
    if (vote.vote === "durability") {
      const signers = voted.durability.get(vote.anchorHash) ?? new Set();
      voted.durability.set(vote.anchorHash, signers.add(member.id));
    }
    askI1(vote.recordHash, voted);
    if (!member.folded) violate("folded", `${member.index} signed a vote before it had folded the lane`);
    let own = signatures.get(member.id);
    if (own === undefined) signatures.set(member.id, (own = new Map()));
    const slot = `${vote.vote} ${vote.height} ${vote.round} ${vote.inProposal}`;
    const before = own.get(slot);
    if (before !== undefined) violate("one vote a slot", `${member.index} signed twice in its slot ${slot}`);
    own.set(slot, vote);
    if (vote.inProposal && n !== 2) violate("one vote a slot", "a proposal of a group carries a vote");
  };

  const takeCommit = (member: Member, record: HistoryRecord, held: ReadonlyArray<HistoryRecord>): void => {
    const { height, authorAgentId, postIntent } = record.recordCore.action;
    const certified = chain[height];
    if (certified === undefined) {
      if (height !== chain.length) violate("I1", `height ${height} was certified before the one below it`);
      chain.push(record);
    } else if (certified.recordHash !== record.recordHash) {
      violate("I1", `member ${member.index} certified another record at height ${height}`);
    }
    const signers = record.actionSignatures.map(({ signerAgentId }) => signerAgentId);
    if (signers.length < actionOf(height) || !signers.includes(authorAgentId))
      violate("threshold", `height ${height} was certified by too few action votes, or without its author's`);
    if (record.durabilityVotes.length < quorum)
      violate("threshold", `height ${height} was certified by too few durability votes`);
    const ancestry = ancestryOf(held);
    if (ancestry.postUsed(authorAgentId, postIntent.postId)) {
      violate("I4", `a post is certified twice at ${height}`);
    }
    heads.set(member.id, verifyNext(trust, heads.get(member.id) ?? headOf(held), record, ancestry));
    askI2(record);
  };

  const holds = ({ disk }: Member, { recordHash, recordCore }: HistoryRecord): boolean =>
    disk.cores.has(recordHash) || disk.records[recordCore.action.height]?.recordHash === recordHash;

  /** I2: a certified record is on the disks of q(n) - f honest members, of all when n < 4. */
  const askI2 = (record: HistoryRecord): void => {
    const holders = world.all.filter((member) => isHonest(member) && holds(member, record)).length;
    if (holders < holdersMin)
      violate("I2", `${holders} honest members hold a certified record, not ${holdersMin}`);
  };

  /** I4: an honest author's posts stand in the order of its intents. */
  const askOrder = ({ after }: Committed): void => {
    for (const author of world.all.filter(isHonest)) {
      const order = author.disk.intents.map(({ intent }) => intent.postId);
      const places = after.records
        .filter(({ recordCore: { action } }) => action.authorAgentId === author.id)
        .map(({ recordCore: { action } }) => order.indexOf(action.postIntent.postId))
        .filter((place) => place >= 0);
      if (places.some((place, i) => place < (places[i - 1] ?? -1)))
        violate("I4", `the posts of ${author.index} are certified out of its order`);
    }
  };

  /** I3 and the disk's own order: nothing certified or staged is lost, and the cores are exactly those of open records. */
  const askDisk = ({ member, before, after }: Committed): void => {
    const kept = before.records.every((record, i) => after.records[i]?.recordHash === record.recordHash);
    if (!kept) violate("I3", `member ${member.index} lost a certified record`);
    const staged = before.state.slot.durabilityVote;
    if (staged !== null && !after.cores.has(staged) && after.records.at(-1)?.recordHash !== staged) {
      const certified = after.records.some(({ recordHash }) => recordHash === staged);
      if (!certified) violate("I3", `member ${member.index} lost a record that it had staged`);
    }
    const open = after.state.open.map(({ recordHash }) => recordHash);
    if (open.length !== after.cores.size || open.some((recordHash) => !after.cores.has(recordHash)))
      violate("disk", `member ${member.index} keeps other cores than those of its open records`);
    const remote = after.records.filter(
      ({ recordCore: { action }, recordHash }) =>
        action.authorAgentId !== member.id && !prior.has(recordHash),
    );
    if (remote.length !== after.pending.length || remote.some((r, i) => r.recordHash !== after.pending[i]))
      violate("I5", `member ${member.index} has other pending rows than its remote posts in chain order`);
  };
  /** Records that stood on the disks from the start. */
  const prior = new Set(chain.map(({ recordHash }) => recordHash));

  /** A proposal is made only while the slot is free of another's lock. */
  const askProposal = ({ member, before, after, commands }: Committed): void => {
    const { lock } = before.state.slot;
    const made = before.state.proposal === null && after.state.proposal !== null;
    const sameSlot =
      !commands.some(({ kind }) => kind === "commit") && before.state.anchor?.round === after.state.anchor?.round;
    if (made && sameSlot && lock !== null)
      violate("proposal", `${member.index} proposed over another's lock`);
  };

  /** I7: whatever leaves with a member's own signature is on its disk. */
  const askSent = (from: AgentId, packet: Packet): void => {
    const own = [...(signatures.get(from)?.values() ?? [])].map(({ signature }) => signature);
    const sent = ownSignaturesIn(from, packet);
    if (sent.some((signature) => !own.includes(signature as OwnVote["signature"])))
      violate("I7", "a vote left that its signer's disk does not hold");
  };

  world.onCommitted.push((committed) => {
    const { member, before, commands } = committed;
    if (!isHonest(member)) return;
    const held = [...before.records];
    let { bound } = before.state.rounds;
    for (const command of commands) {
      if (command.kind === "multicast" && command.packet.kind === "statement_packet")
        bound = Math.max(bound, command.packet.statement.round);
      if (command.kind === "own-vote" && command.round < bound)
        violate("rounds", `${member.index} voted under a round that its statement had ended`);
      if (command.kind === "keep-core") {
        const { height, authorAgentId: author } = command.core.action;
        if (!support.has(command.recordHash))
          support.set(command.recordHash, { height, author, action: new Set(), durability: new Map() });
      }
      if (command.kind === "own-vote") takeVote(member, command);
      if (command.kind === "commit") {
        takeCommit(member, command.record, held);
        held.push(command.record);
      }
    }
    if (held.length > before.records.length) askOrder(committed);
    askDisk(committed);
    askProposal(committed);
  });
  world.onAccepted.push(({ from, packets }) => {
    if (byzantine.has(from)) return;
    for (const packet of packets) askSent(from, packet);
  });
  return { chain };
};

/** The votes of `from` itself that a packet shows for a slot that is still open to it: votes and certificates in the making. */
const ownSignaturesIn = (from: AgentId, packet: Packet): ReadonlyArray<string> => {
  switch (packet.kind) {
    case "proposal_packet":
      return packet.actionVote?.signerAgentId === from ? [packet.actionVote.signature] : [];
    case "vote_packet":
      return [...packet.actionVotes, ...packet.durabilityVotes]
        .filter(({ signerAgentId }) => signerAgentId === from)
        .map(({ signature }) => signature);
    case "action_certificate":
      return [...packet.signatures, packet.durabilityVote]
        .filter(({ signerAgentId }) => signerAgentId === from)
        .map(({ signature }) => signature);
    default:
      return [];
  }
};
