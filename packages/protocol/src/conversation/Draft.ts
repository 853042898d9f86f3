// The working copy of one transition: the state as it changes, the commands so far, and what this transition already
// wrote (which reads cannot see yet). Small verbs only; the rules stand in the handlers and in Settle.ts.

import type { HistoryRecord } from "../history/Evidence.ts";
import type { RecordCore } from "../history/Record.ts";
import type { AgentId, PostId, RecordHash } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import type { Command } from "./Command.ts";
import type { Inputs } from "./Event.ts";
import type { Packet, SignedActionVote, SignedDurabilityVote } from "./Packet.ts";
import type { OpenRecord, State } from "./State.ts";
import { hasOpenWork } from "./State.ts";

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
  readonly #cores = new Map<RecordHash, RecordCore>();
  readonly #usedPosts = new Set<string>();
  readonly #votesOut = new Map<AgentId, VotesOut>();
  #committed: HistoryRecord | null = null;

  constructor(state: State, inputs: Inputs) {
    this.state = { ...state };
    this.inputs = inputs;
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
    const core = this.#cores.get(recordHash) ?? this.inputs.reads.core(recordHash);
    if (core === null) throw new Error(`the core of open record ${recordHash} is not in the store`);
    return core;
  }

  postUsed(author: AgentId, postId: PostId): boolean {
    return this.#usedPosts.has(`${author} ${postId}`) || this.inputs.reads.postUsed(author, postId);
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
    return { state: this.state, commands: this.commands };
  }
}
