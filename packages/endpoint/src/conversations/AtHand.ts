// What steps of the fold read again and again and what never changes under its hash: accepted anchors, and the cores of open
// records. Only what a committed turn has read or written is kept, so that nothing is at hand which the store does not hold.

import type { Command } from "@social-harness/protocol/conversation/Command";
import type { Reads } from "@social-harness/protocol/conversation/Event";
import type { RouterAnchor } from "@social-harness/protocol/history/Evidence";
import type { RecordCore } from "@social-harness/protocol/history/Record";
import type { AnchorHash, RecordHash } from "@social-harness/protocol/identity/Identifier";

/** What a turn has met; a core is null once its record is not open any more. */
export type Met =
  | { readonly kind: "anchor"; readonly hash: AnchorHash; readonly anchor: RouterAnchor }
  | { readonly kind: "core"; readonly hash: RecordHash; readonly core: RecordCore | null };

export interface AtHand {
  /** The same reads, from memory where they can be; each of the others is noted in `met`. */
  readonly reading: (reads: Reads, met: Array<Met>) => Reads;
  /** Keeps what a turn has met that is committed. */
  readonly keep: (met: ReadonlyArray<Met>) => void;
}

/** One a conversation, mostly; a re-anchor among 32 has some 20 kB. */
const anchorsMax = 128;
/** One a conversation while something is under way in it; each may hold a post of 256 kB. */
const coresMax = 16;

const put = <K, V>(kept: Map<K, V>, key: K, value: V, countMax: number): void => {
  kept.delete(key);
  if (kept.size >= countMax) kept.delete(kept.keys().next().value as K);
  kept.set(key, value);
};

export const createAtHand = (): AtHand => {
  const anchors = new Map<AnchorHash, RouterAnchor>();
  const cores = new Map<RecordHash, RecordCore>();
  return {
    reading: (reads, met) => ({
      ...reads,
      anchor: (hash) => {
        const known = anchors.get(hash);
        if (known !== undefined) return known;
        const anchor = reads.anchor(hash);
        if (anchor !== null) met.push({ kind: "anchor", hash, anchor });
        return anchor;
      },
      core: (hash) => {
        const known = cores.get(hash);
        if (known !== undefined) return known;
        const core = reads.core(hash);
        if (core !== null) met.push({ kind: "core", hash, core });
        return core;
      },
    }),
    keep: (met) => {
      for (const one of met) {
        if (one.kind === "anchor") put(anchors, one.hash, one.anchor, anchorsMax);
        else if (one.core === null) cores.delete(one.hash);
        else put(cores, one.hash, one.core, coresMax);
      }
    },
  };
};

/** What a command that is written lets the turn meet. */
export const metBy = (command: Command): ReadonlyArray<Met> => {
  switch (command.kind) {
    case "keep-core":
      return [{ kind: "core", hash: command.recordHash, core: command.core }];
    case "drop-core":
      return [{ kind: "core", hash: command.recordHash, core: null }];
    case "keep-anchor":
      return [{ kind: "anchor", hash: command.anchorHash, anchor: command.anchor }];
    case "own-vote":
    case "void-vote":
    case "commit":
    case "intent-ended":
    case "note":
    case "multicast":
    case "unicast":
      return [];
  }
};
