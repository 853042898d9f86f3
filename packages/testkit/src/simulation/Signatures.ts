// Every signature that an honest member ever made, and the laws about them: I1 in its strong form, one vote a slot and one
// statement a round over a member's whole life, no vote below a stated round, no refusal beside a vote, and I7.
// Byzantine members are taken to have signed everything. The clauses are HIS-23, HIS-34 and HIS-83.

import type { Packet, PacketOf, StatementPacket } from "@social-harness/protocol/conversation/Packet";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type {
  ActionHash,
  AgentId,
  AnchorHash,
  RecordHash,
} from "@social-harness/protocol/identity/Identifier";
import type { RecordCore } from "@social-harness/protocol/history/Record";
import * as Limits from "@social-harness/protocol/Limits";
import type { OwnVote } from "./Disk.ts";
import type { Committed, Member } from "./FoldWorld.ts";
import { thresholdsOf, violate } from "./Violation.ts";

/** Which honest members signed for a record. */
interface Support {
  readonly height: number;
  readonly author: AgentId;
  readonly actionHash: ActionHash;
  /** The round of the record's own anchor: the only one in which it gets action votes. */
  round: number | null;
  readonly action: Set<AgentId>;
  /** By the anchor that the votes stand under. */
  readonly durability: Map<AnchorHash, Set<AgentId>>;
  /** By the round that carried it. */
  readonly carry: Map<number, Set<AgentId>>;
}

/** What a statement says that certificates have to prove. */
type Claims = Pick<StatementPacket["statement"], "head" | "prepared">;

interface Signed {
  readonly signatures: Set<string>;
  /** By slot, what the vote in it was for. */
  readonly slots: Map<string, RecordHash>;
  /** By round, the statement's signature. */
  readonly statements: Map<number, string>;
  readonly refused: Set<ActionHash>;
  /** Own proposals whose end this member asked for. */
  readonly withdrawn: Set<ActionHash>;
  /** By height, the latest durability vote: from then on its record is prepared there, in that round at least. */
  readonly staged: Map<number, { readonly recordHash: RecordHash; readonly round: number }>;
  /** The highest round that this member said it wishes for. */
  wish: number;
  /** The highest round that a statement or an accepted anchor bound this member to. */
  bound: number;
}

export interface Signatures {
  /** Takes in what a committed turn signed. */
  readonly take: (committed: Committed) => void;
  /** I7: whatever leaves with a member's own signature was on its disk before. */
  readonly askSent: (from: AgentId, packet: Packet) => void;
  readonly made: (signer: AgentId, signature: string) => boolean;
  /** The highest round that a member said it wishes for or is bound to. */
  readonly wished: (signer: AgentId) => number;
  /** The highest round that a member stated, or accepted an anchor of. */
  readonly stated: (signer: AgentId) => number;
  /** Whether certificates for a statement's claims can exist, in the very rounds that it names. */
  readonly provable: (claims: Claims) => boolean;
  /** The latest round in which certificates can show a record prepared, or -1. */
  readonly preparedIn: (recordHash: RecordHash) => number;
}

export const createSignatures = (n: number, byzantine: ReadonlySet<AgentId>): Signatures => {
  const { faulty, quorum, actionOf, voidOf } = thresholdsOf(n);
  const support = new Map<RecordHash, Support>();
  const certifiable = new Map<number, RecordHash>();
  const actedIn = new Map<string, RecordHash>();
  const members = new Map<AgentId, Signed>();

  const signedBy = (id: AgentId): Signed => {
    let signed = members.get(id);
    if (signed === undefined) {
      signed = {
        signatures: new Set(),
        slots: new Map(),
        statements: new Map(),
        refused: new Set(),
        withdrawn: new Set(),
        staged: new Map(),
        wish: 0,
        bound: 0,
      };
      members.set(id, signed);
    }
    return signed;
  };

  const keepCore = (recordHash: RecordHash, { action, actionHash }: RecordCore): void => {
    if (support.has(recordHash)) return;
    const { height, authorAgentId: author } = action;
    support.set(recordHash, {
      height,
      author,
      actionHash,
      round: null,
      action: new Set(),
      durability: new Map(),
      carry: new Map(),
    });
  };

  const byAll = (signers: ReadonlySet<AgentId>): number => signers.size + byzantine.size;
  const isActed = ({ height, author, action }: Support): boolean =>
    byAll(action) >= actionOf(height) && (action.has(author) || byzantine.has(author));

  /** I1, strong: from all signatures ever made, no two records of one height can be certified, nor two prepared in a slot. */
  const askI1 = (recordHash: RecordHash, voted: Support): void => {
    const { height, durability, round } = voted;
    if (!isActed(voted)) return;
    // Of two members each signs twice in a slot, so only their one durability vote decides.
    if (n > 2 && round !== null) {
      const slot = `${height} ${round}`;
      const rival = actedIn.get(slot);
      if (rival === undefined) actedIn.set(slot, recordHash);
      else if (rival !== recordHash)
        violate("I1", `two action certificates are possible at height ${height}, round ${round}`);
    }
    if (![...durability.values()].some((signers) => byAll(signers) >= quorum)) return;
    const other = certifiable.get(height);
    if (other === undefined) certifiable.set(height, recordHash);
    else if (other !== recordHash) violate("I1", `two records can be certified at height ${height}`);
  };

  const takeVote = ({ member, after }: Committed, vote: OwnVote): void => {
    const { index, id, folded } = member;
    const voted = support.get(vote.recordHash);
    if (voted === undefined) return violate("staging", `${index} signed for a record it does not hold`);
    const signed = signedBy(id);
    if (vote.vote === "action") {
      voted.action.add(id);
      voted.round = vote.round;
      if (signed.refused.has(voted.actionHash)) violate("refusal", `${index} voted for what it had refused`);
    }
    if (vote.vote === "carry") {
      const signers = voted.carry.get(vote.round) ?? new Set();
      voted.carry.set(vote.round, signers.add(id));
    }
    if (vote.vote === "durability") {
      const signers = voted.durability.get(vote.anchorHash) ?? new Set();
      voted.durability.set(vote.anchorHash, signers.add(id));
    }
    askI1(vote.recordHash, voted);
    const anchor = after.anchors.get(vote.anchorHash);
    if (anchor !== undefined && Reanchor.bodyOf(anchor).routerInstanceId !== member.binding.instance.id)
      violate("router", `${index} signed a vote under an anchor of another Router`);
    if (!folded) violate("folded", `${index} signed a vote before it had folded the lane`);
    if (vote.round < signed.bound)
      violate("rounds", `${index} voted under a round that its statement had ended`);
    const slot = `${vote.vote} ${vote.height} ${vote.round} ${vote.inProposal}`;
    if (signed.slots.has(slot)) violate("one vote a slot", `${index} signed twice in its slot ${slot}`);
    signed.slots.set(slot, vote.recordHash);
    if (vote.vote === "durability")
      signed.staged.set(vote.height, { recordHash: vote.recordHash, round: vote.round });
    signed.signatures.add(vote.signature);
    if (vote.inProposal && n !== 2) violate("one vote a slot", "a proposal of a group carries a vote");
  };

  /** A void record's action vote gives its slot back; refusals enough for that must have been heard. */
  const freeSlot = ({ index, id }: Member, recordHash: RecordHash): void => {
    const voted = support.get(recordHash);
    if (voted === undefined) return;
    const refusers = [...members.values()].filter(({ refused }) => refused.has(voted.actionHash)).length;
    if (refusers + byzantine.size < voidOf(voted.height))
      violate("void", `${index} gave up its vote for a record that can still be certified`);
    const { slots } = signedBy(id);
    for (const [slot, named] of slots)
      if (named === recordHash && slot.startsWith("action ")) slots.delete(slot);
  };

  /** What a member ever staged above the head that it states, it states as prepared, or something of a later round. */
  const askStated = (
    { member }: Committed,
    { head, prepared }: StatementPacket["statement"],
    { staged }: Signed,
  ): void => {
    const own = staged.get((head?.height ?? -1) + 1);
    if (own === undefined) return;
    const keepsBack =
      prepared === null ||
      prepared.round < own.round ||
      (prepared.round === own.round && prepared.recordHash !== own.recordHash);
    if (keepsBack) violate("statement", `${member.index} stated less than it had staged`);
  };

  /** A durability vote is cast only with the certificate that it stands on in hand: of action votes, or of carry votes. */
  const askStaging = ({ member, after }: Committed, { recordHash, height, anchorHash }: OwnVote): void => {
    const open = after.state.open.find((record) => record.recordHash === recordHash);
    if (open === undefined) return;
    const signers = Object.keys(open.action);
    if (signers.length < actionOf(height) || !signers.includes(open.author))
      violate("staging", `${member.index} staged a record without its action certificate`);
    const carries = open.carry?.anchorHash === anchorHash ? Object.keys(open.carry.votes).length : 0;
    if (anchorHash !== open.anchorHash && carries < quorum)
      violate("staging", `${member.index} staged a carried record without its carry certificate`);
  };

  /** A member binds itself only where a quorum wishes, or where more others are bound than can lie. */
  const askCause = ({ member, before, after }: Committed, round: number): void => {
    const others = [...members].filter(([id]) => id !== member.id).map(([, signed]) => signed);
    const wishing =
      others.filter(({ wish, bound }) => Math.max(wish, bound) >= round).length + byzantine.size;
    const bound = others.filter((signed) => signed.bound >= round).length + byzantine.size;
    if (wishing + 1 < quorum && bound <= faulty)
      violate("cause", `${member.index} bound itself to round ${round} on the word of too few`);
    // It may have stated the round already: wishes, which bind nobody, are no cause to state it again.
    if (before.state.restored !== null && after.state.restored !== null && bound <= faulty)
      violate("cause", `${member.index} without its memory bound itself to round ${round} on wishes`);
  };

  const takeStatement = (committed: Committed, { statement, signature }: StatementPacket): void => {
    const { member, before, after } = committed;
    const signed = signedBy(member.id);
    const { round } = statement;
    const known = signed.statements.get(round);
    if (known === signature) return;
    // Whoever lost its memory may state a round again in which it never voted: it counts among the f then.
    if (known !== undefined && !member.hasForgotten)
      violate("one statement a round", `${member.index} stated twice in round ${round}`);
    if (round < signed.bound) violate("rounds", `${member.index} stated a round below the one that binds it`);
    const reached = Math.max(signed.bound, before.state.anchor?.round ?? 0);
    if (!member.hasForgotten && round > reached + Limits.roundsAheadMax)
      violate("cause", `${member.index} followed others from round ${reached} to ${round} at once`);
    if (!member.hasForgotten) askStated(committed, statement, signed);
    askCause(committed, round);
    if (after.state.rounds.bound < round)
      violate("I7", `${member.index}'s disk does not know of its statement`);
    signed.statements.set(round, signature);
    signed.signatures.add(signature);
    signed.bound = round;
  };

  const takeRefusal = (
    { member }: Committed,
    { actionHash, reason, signature }: PacketOf<"refusal">,
  ): void => {
    const signed = signedBy(member.id);
    const refused = [...support.values()].find((record) => record.actionHash === actionHash);
    // Who lost its memory may refuse, of a round that is over, what it forgot to have voted for: it counts among the f then.
    const isExcused = member.hasForgotten && faulty > 0;
    if (refused?.action.has(member.id) === true && !isExcused)
      violate("refusal", `${member.index} refused what it had voted for`);
    const isAsked =
      reason !== "withdrawn" ||
      refused === undefined ||
      byzantine.has(refused.author) ||
      signedBy(refused.author).withdrawn.has(actionHash);
    if (!isAsked) violate("refusal", `${member.index} refused as withdrawn what its author stands by`);
    signed.refused.add(actionHash);
    signed.signatures.add(signature);
  };

  return {
    take: (committed) => {
      const { member, before, commands } = committed;
      const signed = signedBy(member.id);
      signed.bound = Math.max(signed.bound, before.state.rounds.bound);
      for (const command of commands) {
        if (command.kind === "keep-core") keepCore(command.recordHash, command.core);
        if (command.kind === "own-vote") takeVote(committed, command);
        if (command.kind === "void-vote") freeSlot(member, command.recordHash);
        if (command.kind === "own-vote" && command.vote === "durability") askStaging(committed, command);
        if (command.kind !== "multicast" && command.kind !== "unicast") continue;
        const { packet } = command;
        if (packet.kind === "wish") signed.wish = Math.max(signed.wish, packet.round);
        if (packet.kind === "statement_packet") takeStatement(committed, packet);
        if (packet.kind === "refusal" && packet.signerAgentId === member.id) takeRefusal(committed, packet);
        if (packet.kind === "withdrawal" && packet.authorAgentId === member.id) {
          signed.withdrawn.add(packet.actionHash);
          signed.signatures.add(packet.signature);
        }
      }
    },
    askSent: (from, packet) => {
      const signed = signedBy(from);
      if (packet.kind === "wish") signed.wish = Math.max(signed.wish, packet.round);
      if (ownSignaturesIn(from, packet).some((signature) => !signed.signatures.has(signature)))
        violate("I7", "a signature left that its signer's disk does not hold");
    },
    provable: ({ head, prepared }) => {
      if (head !== null && certifiable.get(head.height) !== head.recordHash) return false;
      if (prepared === null) return true;
      const voted = support.get(prepared.recordHash);
      if (voted === undefined || voted.height !== prepared.height || !isActed(voted)) return false;
      return prepared.round === voted.round || byAll(voted.carry.get(prepared.round) ?? new Set()) >= quorum;
    },
    preparedIn: (recordHash) => {
      const voted = support.get(recordHash);
      if (voted === undefined || !isActed(voted)) return -1;
      const carried = [...voted.carry]
        .filter(([, signers]) => byAll(signers) >= quorum)
        .map(([round]) => round);
      return Math.max(voted.round ?? -1, ...carried);
    },
    made: (signer, signature) => members.get(signer)?.signatures.has(signature) === true,
    wished: (signer) => Math.max(signedBy(signer).wish, signedBy(signer).bound),
    stated: (signer) => signedBy(signer).bound,
  };
};

type Signer = { readonly signerAgentId: AgentId; readonly signature: string };

/** What `from` itself signed in a packet for a slot or a round that may still be open to it. */
const ownSignaturesIn = (from: AgentId, packet: Packet): ReadonlyArray<string> => {
  const own = (...lists: ReadonlyArray<ReadonlyArray<Signer>>): ReadonlyArray<string> =>
    lists.flatMap((list) => list.flatMap((entry) => (entry.signerAgentId === from ? [entry.signature] : [])));
  switch (packet.kind) {
    case "proposal_packet":
      return packet.actionVote === undefined ? [] : own([packet.actionVote]);
    case "vote_packet":
      return own(packet.actionVotes, packet.durabilityVotes, packet.carryVotes);
    case "action_certificate":
      return own(packet.signatures, [packet.durabilityVote]);
    case "refusal":
      return own([packet]);
    case "withdrawal":
      return packet.authorAgentId === from ? [packet.signature] : [];
    case "statement_packet":
      return [packet.signature];
    default:
      return [];
  }
};
