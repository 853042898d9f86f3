// Judges endpoints by their disks alone: opens each store read-only and says everything that should never be there.
// No member voted twice in a slot without what frees it, all members hold one chain and accepted one anchor a round, every
// record verifies, every vote that others hold is on its signer's disk, and each remote post became exactly one item, in
// chain order. Knows no process and no network.

import { DatabaseSync } from "node:sqlite";
import type { HistoryRecord, RouterAnchor } from "@social-harness/protocol/history/Evidence";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Void from "@social-harness/protocol/history/Void";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";

export interface DiskOptions {
  /** Nothing is under way any more: chains are equally long, nothing is pending, every intent has ended. */
  readonly quiet: boolean;
  /** Disks that some of these agents had before an older one was put back: what was signed on them stays signed. */
  readonly former?: ReadonlyArray<string>;
}

export interface DiskVerdict {
  /** Sentences, each about one thing that must not be; empty when all is well. */
  readonly problems: ReadonlyArray<string>;
  readonly conversations: number;
  /** Summed over stores. */
  readonly records: number;
  readonly items: number;
  readonly ownVotes: number;
}

type Row = Readonly<Record<string, unknown>>;

interface VoteRow {
  readonly conversation_id: string;
  readonly kind: "action" | "durability" | "carry";
  readonly height: number;
  readonly round: number;
  readonly record_hash: string;
  readonly in_proposal: number;
  readonly void: number;
  readonly signature: string;
}

interface Store {
  readonly path: string;
  readonly card: AgentCard.AgentCard;
  /** By conversation, in chain order. */
  readonly chains: ReadonlyMap<string, ReadonlyArray<HistoryRecord>>;
  readonly votes: ReadonlyArray<VoteRow>;
  readonly anchors: ReadonlyArray<{
    readonly conversationId: string;
    readonly anchorHash: string;
    readonly round: number;
  }>;
  readonly memberCounts: ReadonlyMap<string, number>;
  readonly items: ReadonlyArray<{
    readonly conversationId: string;
    readonly recordHash: string;
    readonly item: string;
  }>;
  /** Posts that a firewall holds in the place of an item. */
  readonly held: ReadonlySet<string>;
  readonly waiting: { readonly pending: number; readonly intents: number };
  /** Posts of this agent in the order of their calls, with their outcomes. */
  readonly intents: ReadonlyArray<{
    readonly conversationId: string;
    readonly postId: string;
    readonly outcome: string | null;
  }>;
}

const heldSql = "SELECT record_hash FROM firewall_hold WHERE ending IS NOT 'released'";
const countOf = (sqlite: DatabaseSync, sql: string): number =>
  Number((sqlite.prepare(sql).get() as Row)["n"]);

const recordOf = (row: Row): HistoryRecord => ({
  recordHash: row["record_hash"] as HistoryRecord["recordHash"],
  recordCore: JSON.parse(row["core"] as string) as HistoryRecord["recordCore"],
  ...(JSON.parse(row["evidence"] as string) as Omit<HistoryRecord, "recordHash" | "recordCore">),
});

const readStore = (path: string): Store => {
  const sqlite = new DatabaseSync(path, { readOnly: true });
  try {
    const all = (sql: string): ReadonlyArray<Row> => sqlite.prepare(sql).all() as ReadonlyArray<Row>;
    const [registration] = all("SELECT agent_card FROM registration WHERE agent_card IS NOT NULL");
    if (registration === undefined) throw new Error(`${path} belongs to no registered agent`);
    const chains = new Map<string, Array<HistoryRecord>>();
    for (const row of all("SELECT * FROM record ORDER BY conversation_id, height")) {
      const id = row["conversation_id"] as string;
      const chain = chains.get(id) ?? [];
      chain.push(recordOf(row));
      chains.set(id, chain);
    }
    return {
      path,
      card: AgentCard.decode(registration["agent_card"] as AgentCard.EncodedAgentCard),
      chains,
      votes: all("SELECT * FROM own_vote ORDER BY rowid") as unknown as ReadonlyArray<VoteRow>,
      anchors: all("SELECT conversation_id, anchor_hash, anchor FROM anchor").map((row) => ({
        conversationId: row["conversation_id"] as string,
        anchorHash: row["anchor_hash"] as string,
        round: Reanchor.bodyOf(JSON.parse(row["anchor"] as string) as RouterAnchor).round,
      })),
      memberCounts: new Map(
        all("SELECT conversation_id, membership FROM conversation").map((row) => [
          row["conversation_id"] as string,
          (JSON.parse(row["membership"] as string) as { members: ReadonlyArray<string> }).members.length,
        ]),
      ),
      items: all(
        "SELECT conversation_id, record_hash, item FROM inbox WHERE record_hash IS NOT NULL ORDER BY sequence",
      ).map((row) => ({
        conversationId: row["conversation_id"] as string,
        recordHash: row["record_hash"] as string,
        item: row["item"] as string,
      })),
      held: new Set(all(heldSql).map((row) => row["record_hash"] as string)),
      waiting: {
        pending: countOf(
          sqlite,
          "SELECT (SELECT count(*) FROM pending) + (SELECT count(*) FROM firewall_queue) AS n",
        ),
        intents: countOf(sqlite, "SELECT count(*) AS n FROM intent WHERE outcome IS NULL"),
      },
      intents: all("SELECT conversation_id, post_id, outcome FROM intent ORDER BY sequence").map((row) => ({
        conversationId: row["conversation_id"] as string,
        postId: row["post_id"] as string,
        outcome: row["outcome"] as string | null,
      })),
    };
  } finally {
    sqlite.close();
  }
};

type Say = (problem: string) => void;

/** One agent with everything that it ever signed, on whichever of its disks that is. A vote is void once any of them says so. */
const remembering = (store: Store, formers: ReadonlyArray<Store>): Store => {
  const disks = [...formers.filter(({ card }) => card.agentId === store.card.agentId), store];
  const votes = new Map<string, VoteRow>();
  for (const vote of disks.flatMap((disk) => disk.votes)) {
    const { kind, round, record_hash, signature } = vote;
    const key = [kind, round, record_hash, signature].join(" ");
    if (votes.get(key)?.void !== 1) votes.set(key, vote);
  }
  const memberCounts = new Map(disks.flatMap((disk) => [...disk.memberCounts]));
  return { ...store, votes: [...votes.values()], memberCounts };
};

/**
 * In a slot at most one lock vote and one durability vote that count. With two members the vote inside the own proposal
 * stands beside the lock vote; with more there is none. Whether a vote is rightly void, `checkVoids` asks.
 */
const checkVotes = ({ votes, memberCounts }: Store, say: Say): void => {
  const slots = new Map<string, VoteRow>();
  for (const vote of votes) {
    if (vote.in_proposal === 1 && memberCounts.get(vote.conversation_id) !== 2) {
      say(`a vote travelled inside a proposal to a group at height ${vote.height}`);
    }
    if (vote.void === 1) continue;
    const slot = [vote.conversation_id, vote.kind, vote.height, vote.round, vote.in_proposal].join(" ");
    const other = slots.get(slot);
    if (other !== undefined && other.record_hash !== vote.record_hash) {
      say(`two ${vote.kind} votes in one slot: ${slot} for ${other.record_hash} and ${vote.record_hash}`);
    }
    slots.set(slot, vote);
  }
};

/** Every record, from GENESIS on, with every signature. */
const checkChains = ({ chains, card }: Store, say: Say): void => {
  const trust = { verifier: Ed25519.verifier, registryKey: card.registryKey };
  for (const [conversationId, chain] of chains) {
    const verified = VerifiedChain.begin(trust);
    for (const record of chain) {
      const { height } = record.recordCore.action;
      try {
        verified.take(record);
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        say(`height ${height} of ${conversationId} does not verify: ${error.message}`);
        break;
      }
    }
  }
};

/** One item for each remote post that is not held, in chain order, with the post's own content. */
const checkItems = (store: Store, { quiet }: DiskOptions, say: Say): void => {
  const { chains, items, card, held, waiting } = store;
  const byConversation = Map.groupBy(items, ({ conversationId }) => conversationId);
  for (const conversationId of byConversation.keys()) {
    if (!chains.has(conversationId)) say(`items of ${conversationId}, which has no chain`);
  }
  for (const [conversationId, chain] of chains) {
    const due = chain.filter(
      ({ recordHash, recordCore }) =>
        recordCore.action.authorAgentId !== card.agentId && !held.has(recordHash),
    );
    const got = byConversation.get(conversationId) ?? [];
    if (quiet ? got.length !== due.length : got.length > due.length) {
      say(`${got.length} items for ${due.length} remote posts of ${conversationId}`);
    }
    for (const [i, { recordHash, item }] of got.entries()) {
      const record = due[i];
      if (record?.recordHash !== recordHash) {
        say(`item ${i} of ${conversationId} is not the remote post that stands there in the chain`);
        break;
      }
      const { postId, content } = record.recordCore.action.postIntent;
      const message = (JSON.parse(item) as { message?: { postId?: string; content?: unknown } }).message;
      if (message?.postId !== postId || JSON.stringify(message.content) !== JSON.stringify(content)) {
        say(`item ${i} of ${conversationId} says something else than its post`);
      }
    }
  }
  if (quiet && waiting.pending > 0) say(`${waiting.pending} posts are pending`);
  if (quiet && waiting.intents > 0) say(`${waiting.intents} intents have not ended`);
};

/** Posts that another disk of the agent knew stand in the chain beside its own: these in their order, and nobody else's. */
const checkForgotten = (store: Store, formers: ReadonlyArray<Store>, say: Say): void => {
  const disks = [store, ...formers];
  for (const [conversationId, chain] of store.chains) {
    const posted = chain.flatMap(({ recordCore: { action } }) =>
      action.authorAgentId === store.card.agentId ? [action.postIntent.postId as string] : [],
    );
    const known = new Set(disks.flatMap(({ intents }) => intents.map(({ postId }) => postId)));
    if (posted.some((postId) => !known.has(postId))) say(`an own post of ${conversationId} is of no call`);
    for (const { intents } of disks) {
      const certified = intents.filter(
        (intent) => intent.conversationId === conversationId && intent.outcome === "certified",
      );
      const places = certified.map(({ postId }) => posted.indexOf(postId));
      if (places.some((place, i) => place <= (places[i - 1] ?? -1)))
        say(`certified intents of ${conversationId} are not its own posts in their order`);
    }
  }
};

/** Own posts stand in the chain once, in the order of their calls, exactly when their intents ended certified. */
const checkIntents = ({ intents, chains, card }: Store, say: Say): void => {
  for (const [conversationId, own] of Map.groupBy(intents, (intent) => intent.conversationId)) {
    const posted = (chains.get(conversationId) ?? []).flatMap(({ recordCore: { action } }) =>
      action.authorAgentId === card.agentId ? [action.postIntent.postId as string] : [],
    );
    const certified = own.flatMap(({ postId, outcome }) => (outcome === "certified" ? [postId] : []));
    if (posted.join() !== certified.join()) {
      say(`certified intents of ${conversationId} are not its own posts in their order`);
    }
  }
};

/** Every record stands under an anchor that this member accepted. */
const checkAnchored = ({ anchors, chains }: Store, say: Say): void => {
  const accepted = new Set(
    anchors.map(({ conversationId, anchorHash }) => `${conversationId} ${anchorHash}`),
  );
  for (const [conversationId, chain] of chains) {
    const strange = chain.find(
      ({ recordCore }) => !accepted.has(`${conversationId} ${recordCore.anchorHash}`),
    );
    if (strange === undefined) continue;
    say(
      `height ${strange.recordCore.action.height} of ${conversationId} stands under an anchor that is not there`,
    );
  }
};

/** A round after the first has one anchor, whoever accepted it; in the first each author may begin under another Router. */
const checkRounds = (stores: ReadonlyArray<Store>, say: Say): void => {
  const rounds = new Map<string, string>();
  for (const { card, anchors } of stores) {
    for (const { conversationId, anchorHash, round } of anchors) {
      if (round === 0) continue;
      const place = `${conversationId} ${round}`;
      const other = rounds.get(place) ?? anchorHash;
      if (other !== anchorHash)
        say(`${card.agentName} accepted another anchor in round ${round} of ${conversationId}`);
      rounds.set(place, other);
    }
  }
};

/** The members' chains are prefixes of one another; equal when all is quiet. */
const checkAgreement = (stores: ReadonlyArray<Store>, { quiet }: DiskOptions, say: Say): number => {
  const conversations = new Set(stores.flatMap(({ chains }) => [...chains.keys()]));
  for (const conversationId of conversations) {
    const holders = stores.filter(({ memberCounts }) => memberCounts.has(conversationId));
    const longest = holders
      .map(({ chains }) => chains.get(conversationId) ?? [])
      .reduce((left, right) => (left.length >= right.length ? left : right));
    for (const { card, chains } of holders) {
      const chain = chains.get(conversationId) ?? [];
      if (chain.some(({ recordHash }, height) => recordHash !== longest[height]?.recordHash)) {
        say(`${card.agentName} holds another record than others in ${conversationId}`);
      } else if (quiet && chain.length !== longest.length) {
        say(`${card.agentName} holds ${chain.length} of ${longest.length} records of ${conversationId}`);
      }
    }
  }
  return conversations.size;
};

/** Whatever a member signed and others keep as evidence is on that member's own disk, byte for byte. */
const checkRemembered = (stores: ReadonlyArray<Store>, say: Say): void => {
  const remembered = new Map<AgentId, ReadonlySet<string>>(
    stores.map(({ card, votes }) => [
      card.agentId,
      new Set(votes.map(({ kind, record_hash, signature }) => `${kind} ${record_hash} ${signature}`)),
    ]),
  );
  for (const { card, chains } of stores) {
    for (const record of [...chains.values()].flat()) {
      const evidence = [
        ...record.actionSignatures.map((entry) => ({ kind: "action", ...entry })),
        ...record.durabilityVotes.map((entry) => ({ kind: "durability", ...entry })),
      ];
      for (const { kind, signerAgentId, signature } of evidence) {
        const own = remembered.get(signerAgentId);
        if (own === undefined || own.has(`${kind} ${record.recordHash} ${signature}`)) continue;
        say(
          `${card.agentName} holds a ${kind} vote of ${signerAgentId} that its signer's disk does not have`,
        );
      }
    }
  }
};

/**
 * A vote that its store calls void counts for nothing, so the record must be one that nobody can ever certify. The refusals
 * that prove it are on no disk, but whoever refused has never voted: as many members as refusals are needed are without a vote
 * for the record, those included whose store is not judged here; nobody holds the record in a chain, and nobody said that it
 * is durable.
 */
const checkVoids = (stores: ReadonlyArray<Store>, say: Say): void => {
  const voids = stores.flatMap(({ votes }) => votes.filter((vote) => vote.void === 1));
  for (const [recordHash, [vote]] of Map.groupBy(voids, (one) => one.record_hash)) {
    if (vote === undefined) continue;
    const n = Math.max(...stores.map(({ memberCounts }) => memberCounts.get(vote.conversation_id) ?? 0));
    const votes = stores.flatMap((store) => store.votes.filter((one) => one.record_hash === recordHash));
    const voters = stores.filter((store) =>
      store.votes.some(({ record_hash, kind }) => record_hash === recordHash && kind === "action"),
    );
    if (n - voters.length < Void.refusalsNeeded(n, vote.height)) {
      say(`${recordHash} is called void, and too few members can have refused it`);
    }
    if (votes.some(({ kind }) => kind !== "action")) {
      say(`${recordHash} is called void, and somebody voted that it is durable`);
    }
    if (
      stores.some(({ chains }) => [...chains.values()].flat().some((one) => one.recordHash === recordHash))
    ) {
      say(`${recordHash} is called void, and it is certified`);
    }
  }
};

/** Reads the stores at these paths, one an agent of one network, and judges them alone and together. */
export const judge = (paths: ReadonlyArray<string>, options: DiskOptions): DiskVerdict => {
  const stores = paths.map(readStore);
  const formers = (options.former ?? []).map(readStore);
  const agents = stores.map((store) => remembering(store, formers));
  const problems: Array<string> = [];
  const sayOf =
    ({ card }: Store): Say =>
    (problem) =>
      void problems.push(`${card.agentName}: ${problem}`);
  for (const agent of agents) checkVotes(agent, sayOf(agent));
  for (const store of [...stores, ...formers]) {
    checkChains(store, sayOf(store));
    checkAnchored(store, sayOf(store));
  }
  for (const store of formers) checkItems(store, { quiet: false }, sayOf(store));
  for (const store of stores) {
    const own = formers.filter(({ card }) => card.agentId === store.card.agentId);
    checkItems(store, options, sayOf(store));
    if (own.length === 0) checkIntents(store, sayOf(store));
    else checkForgotten(store, own, sayOf(store));
  }
  const say = (problem: string): void => void problems.push(problem);
  const conversations = checkAgreement(stores, options, say);
  if (formers.length > 0) checkAgreement([...stores, ...formers], { quiet: false }, say);
  checkRounds([...stores, ...formers], say);
  checkRemembered(agents, say);
  checkVoids(agents, say);
  const sum = (of: (store: Store) => number): number => stores.reduce((total, store) => total + of(store), 0);
  return {
    problems,
    conversations,
    records: sum(({ chains }) => [...chains.values()].flat().length),
    items: sum(({ items }) => items.length),
    ownVotes: sum(({ votes }) => votes.length),
  };
};
