// The working copy of one transition: the state as it changes, the commands so far, what this transition already wrote
// (which reads cannot see yet), and what it has read. Small verbs only; the rules stand in the handlers and in Settle.ts.

import type { HistoryRecord, RouterAnchor } from "../history/Evidence.ts";
import * as Reanchor from "../history/Reanchor.ts";
import type { RecordCore } from "../history/Record.ts";
import type { AgentId, AnchorHash, PostId, RecordHash } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import type { Command } from "./Command.ts";
import type { Inputs } from "./Event.ts";
import type { Packet, SignedActionVote, SignedDurabilityVote } from "./Packet.ts";
import type { OpenRecord, Rounds, State } from "./State.ts";
import { areLeft } from "./LeftBehind.ts";
import { hasCandidate, hasOpenWork } from "./State.ts";

type Writable<T> = { -readonly [K in keyof T]: T[K] };

interface VotesOut {
  readonly actionVotes: Array<SignedActionVote>;
  readonly durabilityVotes: Array<SignedDurabilityVote>;
}

export class Draft {
  readonly state: Writable<State>;
  readonly inputs: Inputs;
  readonly commands: Array<Command> = [];
  /** Something moved: silence starts anew. */
  progressed = false;
  /** The member whose certificate is being answered; durability votes go back to it. */
  certificateFrom: AgentId | null = null;
  /** The lane showed everybody the certificate that commits, so nobody needs it spread. */
  certificateSeen = false;
  readonly endedIntents = new Set<PostId>();
  /** What this transition wrote, and what it has read: neither changes while it runs. */
  readonly #cores = new Map<RecordHash, RecordCore>();
  readonly #anchors = new Map<AnchorHash, RouterAnchor>();
  readonly #records = new Map<RecordHash, HistoryRecord>();
  readonly #usedPosts = new Set<string>();
  readonly #votesOut = new Map<AgentId, VotesOut>();
  #committed: HistoryRecord | null = null;

  constructor(state: State, inputs: Inputs) {
    this.state = { ...state };
    this.inputs = inputs;
  }

  changeRounds(more: Partial<Rounds>): void {
    this.state.rounds = { ...this.state.rounds, ...more };
  }

  find(recordHash: RecordHash): OpenRecord | undefined {
    return this.state.open.find((record) => record.recordHash === recordHash);
  }

  addOpen(record: OpenRecord, core: RecordCore): void {
    this.state.open = [...this.state.open, record];
    this.#cores.set(record.recordHash, core);
    this.commands.push({ kind: "keep-core", recordHash: record.recordHash, core });
  }

  replaceOpen(record: OpenRecord): void {
    this.state.open = this.state.open.map((other) =>
      other.recordHash === record.recordHash ? record : other,
    );
  }

  keepOpen(keep: (record: OpenRecord) => boolean): void {
    for (const record of this.state.open) {
      if (!keep(record)) this.commands.push({ kind: "drop-core", recordHash: record.recordHash });
    }
    this.state.open = this.state.open.filter(keep);
  }

  core(recordHash: RecordHash): RecordCore {
    const known = this.#cores.get(recordHash);
    if (known !== undefined) return known;
    const core = this.inputs.reads.core(recordHash);
    if (core === null) throw new Error(`the core of open record ${recordHash} is not in the store`);
    this.#cores.set(recordHash, core);
    return core;
  }

  postUsed(author: AgentId, postId: PostId): boolean {
    return this.#usedPosts.has(`${author} ${postId}`) || this.inputs.reads.postUsed(author, postId);
  }

  /** An anchor that was accepted, whole. */
  anchor(anchorHash: AnchorHash): RouterAnchor {
    const anchor = this.#anchorIfKnown(anchorHash);
    if (anchor === null) throw new Error(`the accepted anchor ${anchorHash} is not in the store`);
    return anchor;
  }

  knowsAnchor(anchorHash: AnchorHash): boolean {
    return this.#anchorIfKnown(anchorHash) !== null;
  }

  #anchorIfKnown(anchorHash: AnchorHash): RouterAnchor | null {
    const known = this.#anchors.get(anchorHash);
    if (known !== undefined) return known;
    const anchor = this.inputs.reads.anchor(anchorHash);
    if (anchor !== null) this.#anchors.set(anchorHash, anchor);
    return anchor;
  }

  /** The round of an anchor, or null where it is not here. */
  roundOf(anchorHash: AnchorHash): number | null {
    const anchor = this.#anchorIfKnown(anchorHash);
    return anchor === null ? null : Reanchor.bodyOf(anchor).round;
  }

  keepAnchor(anchorHash: AnchorHash, anchor: RouterAnchor): void {
    if (this.knowsAnchor(anchorHash)) return;
    this.#anchors.set(anchorHash, anchor);
    this.commands.push({ kind: "keep-anchor", anchorHash, anchor });
  }

  /** A certified record of this chain, or null. */
  certified(recordHash: RecordHash): HistoryRecord | null {
    const written = this.#records.get(recordHash);
    if (written !== undefined) return written;
    const height = this.inputs.reads.heightOf(recordHash);
    return height === null ? null : this.inputs.reads.recordAt(height);
  }

  certifiedAt(height: number): HistoryRecord | null {
    for (const record of this.#records.values())
      if (record.recordCore.action.height === height) return record;
    return this.inputs.reads.recordAt(height);
  }

  /** The record of the certified head. */
  headRecord(): HistoryRecord | null {
    const { head } = this.state;
    if (head === null) return null;
    return this.#committed?.recordHash === head.recordHash
      ? this.#committed
      : this.inputs.reads.recordAt(head.height);
  }

  noteCommitted(record: HistoryRecord): void {
    this.#committed = record;
    this.#records.set(record.recordHash, record);
    const { action } = record.recordCore;
    this.#usedPosts.add(`${action.authorAgentId} ${action.postIntent.postId}`);
    this.commands.push({ kind: "commit", record });
  }

  multicast(packet: Packet): void {
    this.commands.push({ kind: "multicast", packet });
  }

  unicast(to: AgentId, packet: Packet): void {
    this.commands.push({ kind: "unicast", to, packet });
  }

  note(message: string): void {
    this.commands.push({ kind: "note", message });
  }

  /** Votes of one transition to one member travel in one packet. */
  sendActionVote(to: AgentId, vote: SignedActionVote): void {
    this.#outTo(to).actionVotes.push(vote);
  }

  sendDurabilityVote(to: AgentId, vote: SignedDurabilityVote): void {
    this.#outTo(to).durabilityVotes.push(vote);
  }

  #outTo(to: AgentId): VotesOut {
    let out = this.#votesOut.get(to);
    if (out === undefined) {
      out = { actionVotes: [], durabilityVotes: [] };
      this.#votesOut.set(to, out);
    }
    return out;
  }

  /** Ends the transition: packs the votes and sets the silence timer by what the state now holds. */
  finish(): { readonly state: State; readonly commands: ReadonlyArray<Command> } {
    for (const [to, votes] of this.#votesOut) {
      this.unicast(to, { kind: "vote_packet", ...votes, carryVotes: [] });
    }
    // Who is not connected can neither hear progress nor be heard: its silence means nothing.
    if (!this.inputs.folded || !hasOpenWork(this.state)) this.state.silence = null;
    else if (this.progressed || this.state.silence === null) {
      this.state.silence = { at: this.inputs.now + Limits.silenceMsMin, intervalMs: Limits.silenceMsMin };
    }
    this.#watchStall();
    return { state: this.state, commands: this.commands };
  }

  /** Work that does not move for long, with a quorum heard meanwhile, is cause for another round. */
  #watchStall(): void {
    const { state, inputs } = this;
    const { stall } = state.rounds;
    if (
      !inputs.folded ||
      (!hasOpenWork(state) && !hasCandidate(state) && !areLeft(state, inputs.members.n))
    ) {
      if (stall !== null || state.rounds.heard.length > 0)
        state.rounds = { ...state.rounds, stall: null, heard: [] };
    } else if (this.progressed || stall === null) {
      const intervalMs = stall?.intervalMs ?? Limits.roundMsMin;
      state.rounds = { ...state.rounds, heard: [], stall: { at: inputs.now + intervalMs, intervalMs } };
    }
  }
}
