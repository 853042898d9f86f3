// What a simulated member's disk holds, and what one transition writes to it. A turn works on a copy that replaces the
// disk whole, or is lost whole: nothing of it has left before. Knows the fold's commands and reads, no rule.

import type { Command } from "@social-harness/protocol/conversation/Command";
import type { Reads } from "@social-harness/protocol/conversation/Event";
import { pageBytesOf } from "@social-harness/protocol/conversation/CatchUp";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import { initial, type State } from "@social-harness/protocol/conversation/State";
import type { HistoryRecord, RouterAnchor } from "@social-harness/protocol/history/Evidence";
import type { PostIntent, RecordCore } from "@social-harness/protocol/history/Record";
import type { AgentId, AnchorHash, PostId, RecordHash } from "@social-harness/protocol/identity/Identifier";

export type OwnVote = Extract<Command, { kind: "own-vote" }>;
export type Outcome = Extract<Command, { kind: "intent-ended" }>["outcome"];

export interface StoredIntent {
  readonly intent: PostIntent;
  readonly createdAt: number;
  readonly outcome: Outcome | null;
}

/** A finished envelope: to every member in the conversation's lane, or to one. */
export interface Outgoing {
  readonly to: AgentId | "lane";
  readonly packets: ReadonlyArray<Packet>;
}

export interface Disk {
  readonly state: State;
  readonly records: ReadonlyArray<HistoryRecord>;
  readonly cores: ReadonlyMap<RecordHash, RecordCore>;
  readonly anchors: ReadonlyMap<AnchorHash, RouterAnchor>;
  readonly intents: ReadonlyArray<StoredIntent>;
  readonly ownVotes: ReadonlyArray<OwnVote>;
  /** Remote posts that became pending, in the order of their commits. */
  readonly pending: ReadonlyArray<RecordHash>;
  readonly outbox: ReadonlyArray<Outgoing>;
  /** Lane envelopes taken in. */
  readonly cursor: number;
}

export const blank: Disk = {
  state: initial,
  records: [],
  cores: new Map(),
  anchors: new Map(),
  intents: [],
  ownVotes: [],
  pending: [],
  outbox: [],
  cursor: 0,
};

/** The packets of one transition as the endpoint packs them: one envelope for the lane, one for each single recipient. */
const envelopesOf = (commands: ReadonlyArray<Command>): ReadonlyArray<Outgoing> => {
  const envelopes = new Map<AgentId | "lane", Array<Packet>>();
  for (const command of commands) {
    if (command.kind !== "multicast" && command.kind !== "unicast") continue;
    const to = command.kind === "multicast" ? "lane" : command.to;
    const packets = envelopes.get(to);
    if (packets === undefined) envelopes.set(to, [command.packet]);
    else packets.push(command.packet);
  }
  return [...envelopes].map(([to, packets]) => ({ to, packets }));
};

/** What a process that starts again reads: the state has been through JSON. */
export const reread = (disk: Disk): Disk => ({
  ...disk,
  state: JSON.parse(JSON.stringify(disk.state)) as State,
});

/** The disk after a transition's commands and state. What no command touches is shared with the disk before. */
export const written = (disk: Disk, self: AgentId, state: State, commands: ReadonlyArray<Command>): Disk => {
  let { cores, anchors, records, intents, ownVotes, pending } = disk;
  for (const command of commands) {
    switch (command.kind) {
      case "keep-core":
        cores = new Map(cores).set(command.recordHash, command.core);
        break;
      case "drop-core":
        cores = new Map([...cores].filter(([recordHash]) => recordHash !== command.recordHash));
        break;
      case "keep-anchor":
        anchors = new Map(anchors).set(command.anchorHash, command.anchor);
        break;
      case "own-vote":
        ownVotes = [...ownVotes, command];
        break;
      case "void-vote":
        // A vote that was signed stays on record; only its slot is free again.
        break;
      case "commit":
        records = [...records, command.record];
        if (command.record.recordCore.action.authorAgentId !== self)
          pending = [...pending, command.record.recordHash];
        break;
      case "intent-ended":
        intents = intents.map((stored) =>
          stored.intent.postId === command.postId ? { ...stored, outcome: command.outcome } : stored,
        );
        break;
      case "multicast":
      case "unicast":
      case "note":
        break;
    }
  }
  const sent = envelopesOf(commands);
  const outbox = sent.length === 0 ? disk.outbox : [...disk.outbox, ...sent];
  return { ...disk, state, records, cores, anchors, intents, ownVotes, pending, outbox };
};

/**
 * As the endpoint does it when it finds that its memory is lost: an open intent that a clock, set back since, dates into the
 * future is as old as the rest of the disk.
 */
export const aged = (disk: Disk, before: State): Disk => {
  const { restored } = disk.state;
  if (restored === null || restored.at === before.restored?.at) return disk;
  const { at } = restored;
  const intents = disk.intents.map((stored) =>
    stored.outcome === null && stored.createdAt >= at ? { ...stored, createdAt: at - 1 } : stored,
  );
  return { ...disk, intents };
};

const carries =
  (author: AgentId, postId: PostId) =>
  ({ recordCore: { action } }: HistoryRecord): boolean =>
    action.authorAgentId === author && action.postIntent.postId === postId;

export const readsOf = (disk: Disk): Reads => ({
  hasSigned: (vote, recordHash, anchorHash) =>
    disk.ownVotes.some(
      (own) => own.vote === vote && own.recordHash === recordHash && own.anchorHash === anchorHash,
    ),
  nextIntent: (except) =>
    disk.intents.find(({ outcome, intent }) => outcome === null && !except.has(intent.postId)) ?? null,
  core: (recordHash) => disk.cores.get(recordHash) ?? null,
  postUsed: (author, postId) => disk.records.some(carries(author, postId)),
  heightOf: (recordHash) => {
    const height = disk.records.findIndex((record) => record.recordHash === recordHash);
    return height < 0 ? null : height;
  },
  anchor: (anchorHash) => disk.anchors.get(anchorHash) ?? null,
  recordAt: (height) => disk.records[height] ?? null,
  recordsAfter: (height, bytesMax) => {
    const records: Array<HistoryRecord> = [];
    let bytes = 0;
    for (const record of disk.records.slice(height + 1)) {
      bytes += pageBytesOf(record);
      if (records.length > 0 && bytes > bytesMax) return { records, hasMore: true };
      records.push(record);
    }
    return { records, hasMore: false };
  },
});
