// The laws that the stores of all members obey together at every instant, while daemons write to some of them and others
// are dead, and what the authors and hosts may hold against them. Judges what Disk.ts has read; the disk oracle of the
// network folder judges stores at rest, every signature included.

import { quorumOf } from "@social-harness/protocol/history/Quorum";
import { type Books, conversationOf } from "./Books.ts";
import type { Disk, Vote } from "./Disk.ts";
import type { Faults } from "./Fault.ts";
import type { Journal } from "./Journal.ts";

/** Every store twice, all of them first and then all of them again: what is shown early must stand at its owner late. */
export interface Readings {
  readonly early: ReadonlyArray<Disk>;
  readonly late: ReadonlyArray<Disk>;
}

const slotOf = ({ signer, conversationId, kind, height, round }: Vote): string =>
  [signer, conversationId, kind, height, round].join(" ");

/**
 * In a slot a member signs one action vote and one durability vote. Only with two members the vote inside its own proposal
 * stands beside a lock vote for the other one's.
 */
const askVotes = ({ early, late }: Readings, faults: Faults): void => {
  const disks = [...early, ...late];
  const authors = new Map(disks.flatMap((disk) => [...disk.authors]));
  const pairs = new Set(
    disks.flatMap(({ conversations }) =>
      conversations.filter(({ names }) => names.length === 2).map(({ conversationId }) => conversationId),
    ),
  );
  const signed = new Map<string, Set<string>>();
  for (const vote of disks.flatMap(({ ownVotes, shownVotes }) => [...ownVotes, ...shownVotes])) {
    const exempt = vote.kind === "action" && pairs.has(vote.conversationId);
    const slot = exempt ? `${slotOf(vote)} ${authors.get(vote.recordHash) === vote.signer}` : slotOf(vote);
    const hashes = signed.get(slot);
    if (hashes === undefined) signed.set(slot, new Set([vote.recordHash]));
    else if (hashes.add(vote.recordHash).size > 1)
      faults.add(`conflicting votes were signed in slot ${slot}`);
  }
};

/** What others show of a member's votes is on the member's own disk, and a durability vote's record with it. */
const askOwners = ({ early, late }: Readings, faults: Faults): void => {
  const owners = new Map(late.map((disk) => [disk.agentId, disk]));
  const own = new Map(
    late.map(({ agentId, ownVotes }) => [
      agentId,
      new Map(ownVotes.map((vote) => [`${slotOf(vote)} ${vote.recordHash}`, vote.signature])),
    ]),
  );
  for (const { name, shownVotes } of early) {
    for (const vote of shownVotes) {
      const owner = owners.get(vote.signer);
      if (owner === undefined) continue;
      const kept = own.get(vote.signer)?.get(`${slotOf(vote)} ${vote.recordHash}`);
      if (kept !== vote.signature)
        faults.add(`${name} shows a vote that ${owner.name} does not hold: ${slotOf(vote)}`);
      if (vote.kind === "durability" && !owner.cores.has(vote.recordHash))
        faults.add(`${owner.name} said that ${vote.recordHash} is on its disk, and it is not`);
    }
  }
};

/** Chains are whole, equal as far as they reach, and on as many disks as a certificate promises. */
const askChains = ({ early, late }: Readings, faults: Faults): void => {
  const certified = new Map<string, { readonly recordHash: string; readonly n: number }>();
  for (const { name, conversations } of early) {
    for (const { conversationId, names, headHeight, records } of conversations) {
      if (records.length - 1 !== (headHeight ?? -1))
        faults.add(`${name} has another head than its last record`);
      records.forEach(({ height, recordHash }, index) => {
        if (height !== index) faults.add(`${name} has a hole in its chain at height ${index}`);
        const place = `${conversationId} ${height}`;
        const known = certified.get(place);
        if (known === undefined) certified.set(place, { recordHash, n: names.length });
        else if (known.recordHash !== recordHash) faults.add(`two records are certified at ${place}`);
      });
    }
  }
  const holders = new Map<string, number>();
  for (const { cores } of late) for (const hash of cores) holders.set(hash, (holders.get(hash) ?? 0) + 1);
  for (const [place, { recordHash, n }] of certified) {
    if ((holders.get(recordHash) ?? 0) < quorumOf(n))
      faults.add(`the record at ${place} is on too few disks`);
  }
};

/**
 * Remote posts become items exactly once, in chain order; own ones never do. Those that a firewall holds are left out, and
 * nothing that comes after one that is not judged has come further than it.
 */
const askItems = (disks: ReadonlyArray<Disk>, faults: Faults): void => {
  for (const { name, agentId, conversations } of disks) {
    for (const { names, records, admitted, held, queued, pending } of conversations) {
      const owed = records.filter(({ author }) => author !== agentId).map(({ recordHash }) => recordHash);
      const isHeld = new Set(held);
      const handed = owed.filter((hash) => !isHeld.has(hash));
      const judged = owed.slice(0, admitted.length + held.length);
      if (
        [...admitted, ...queued, ...pending].join() !== handed.join() ||
        judged.filter((hash) => isHeld.has(hash)).join() !== held.join()
      )
        faults.add(`${name} has other items than the remote posts of ${names.join(",")} in chain order`);
    }
  }
};

/** An intent is certified exactly when its record is, and none was given up. */
const askIntents = (disks: ReadonlyArray<Disk>, faults: Faults): void => {
  for (const { name, agentId, conversations, intents, lostAt } of disks) {
    const posts = new Set(
      conversations.flatMap(({ records }) =>
        records.filter(({ author }) => author === agentId).map(({ postId }) => postId),
      ),
    );
    for (const { postId, outcome } of intents) {
      if ((outcome === "certified") !== posts.has(postId) || (outcome ?? "certified") !== "certified")
        faults.add(
          `${name} says ${outcome} of its post ${postId}, which is ${posts.has(postId) ? "" : "not "}certified`,
        );
    }
    if (posts.size > intents.length) faults.add(`${name} has certified posts that it never meant`);
    if (lostAt !== null) faults.add(`${name} took itself for an old copy, which it never was`);
  }
};

/** An author that was answered keeps its post under the key of its call, and every post has one key. */
const askBooks = (disks: ReadonlyArray<Disk>, books: Books, faults: Faults): void => {
  const sent = books.conversations().flatMap((conversation) => books.postsOf(conversation));
  for (const { name, intents } of disks) {
    const byKey = new Map(intents.map(({ key, postId }) => [key, postId]));
    if (byKey.size !== intents.length) faults.add(`${name} has two posts under one key`);
    if (byKey.has(null)) faults.add(`${name} has a post without the key of its call`);
    for (const { author, key, postId } of sent) {
      if (author === name && byKey.get(key) !== postId)
        faults.add(`${name} lost the post that it answered for ${key}`);
    }
  }
};

/** What a consumer was answered is kept: its tokens, its acknowledgments, and nothing acknowledged by itself. */
const askJournals = (
  disks: ReadonlyArray<Disk>,
  journals: ReadonlyMap<string, Journal>,
  faults: Faults,
): void => {
  for (const { name, tokens, conversations } of disks) {
    const journal = journals.get(name);
    if (journal === undefined) continue;
    const posts = new Map(
      conversations.flatMap(({ records }) => records.map(({ recordHash, postId }) => [recordHash, postId])),
    );
    const kept = new Map(tokens.map((one) => [one.token, one]));
    for (const { token, postId } of journal.entries()) {
      const found = kept.get(token);
      if (found === undefined) faults.add(`${name} lost the token ${token}`);
      else if (posts.get(found.recordHash ?? "") !== postId)
        faults.add(`${name} gave ${token} to another post`);
      else if (journal.isDone(token) && !found.isAcknowledged)
        faults.add(`${name} forgot that ${token} was acknowledged`);
      else if (!journal.isAsked(token) && found.isAcknowledged)
        faults.add(`${name} acknowledged ${token} by itself`);
    }
  }
};

/** What holds at every instant, whoever is dead. Books and journals are those from before the readings. */
export const askAlways = (
  readings: Readings,
  books: Books,
  journals: ReadonlyMap<string, Journal>,
  faults: Faults,
): void => {
  askVotes(readings, faults);
  askOwners(readings, faults);
  askChains(readings, faults);
  askItems(readings.early, faults);
  askIntents(readings.early, faults);
  askBooks(readings.late, books, faults);
  askJournals(readings.late, journals, faults);
};

/** Each host was handed the posts of each conversation in the order of its chain, all but those that are held, once. */
const askHosts = (
  disks: ReadonlyArray<Disk>,
  journals: ReadonlyMap<string, Journal>,
  faults: Faults,
): void => {
  for (const { name, agentId, conversations } of disks) {
    const entries = journals.get(name)?.entries();
    // A host that is reached by webhook keeps none.
    if (entries === undefined) continue;
    for (const { names, records, held } of conversations) {
      const key = conversationOf(names);
      const handed = entries.filter(({ conversation }) => conversation === key).map(({ postId }) => postId);
      const owed = records
        .filter(({ author, recordHash }) => author !== agentId && !held.includes(recordHash))
        .map(({ postId }) => postId);
      if (handed.join() !== owed.join())
        faults.add(
          `the host of ${name} was handed other posts of ${key} than its chain has, or in another order`,
        );
    }
  }
};

/**
 * What holds besides when all is quiet: nothing waits to be sent, each chain is exactly what its authors were told, each
 * author's posts in the order of its bursts, and the hosts were handed all of it. That the members' chains are equal then is
 * the disk oracle's to say.
 */
export const askSettled = (
  disks: ReadonlyArray<Disk>,
  books: Books,
  journals: ReadonlyMap<string, Journal>,
  faults: Faults,
): void => {
  askHosts(disks, journals, faults);
  const agentIds = new Map(disks.map(({ name, agentId }) => [name, agentId]));
  for (const { name, conversations, intents, outbox } of disks) {
    if (intents.some(({ outcome }) => outcome !== "certified"))
      faults.add(`${name} has posts that never ended`);
    if (outbox > 0) faults.add(`${name} still has ${outbox} envelopes to send`);
    for (const { names, records } of conversations) {
      const conversation = conversationOf(names);
      const sent = books.postsOf(conversation);
      const bursts = new Map(
        sent.map(({ author, postId, burst }) => [`${agentIds.get(author)} ${postId}`, burst]),
      );
      const kept = records.map(({ author, postId }) => `${author} ${postId}`);
      if (sent.length !== kept.length || kept.some((post) => !bursts.has(post)))
        faults.add(`${name} holds other posts of ${conversation} than the ${sent.length} that were sent`);
      for (const author of names) {
        const own = kept.filter((_, height) => records[height]?.author === agentIds.get(author));
        const order = own.map((post) => bursts.get(post) ?? 0);
        if (order.some((burst, index) => burst < (order[index - 1] ?? 0)))
          faults.add(`${name} holds the posts of ${author} in ${conversation} reordered`);
      }
    }
  }
};
