// What surrounds a conversation in a run: how many members there are and of which kind, and how often each thing goes wrong.
// Says nothing about which of it comes together: that is Scenarios.ts's.

import type { SchemeName } from "./schemes/Schemes.ts";

export type RouterKind = "correct" | "slow" | "restarts" | "rolls-back" | "replaced" | "equivocates";

/** Every number but the counts is the probability of one step of the storm. */
export interface Environment {
  readonly n: number;
  /** Members at the end of the list that are Byzantine, at most f. */
  readonly byzantine: number;
  /** Byzantine members never propose: honest members must get on with their work all the same. */
  readonly nuisance: boolean;
  /** Byzantine members show no certificate before its round is over. */
  readonly secretive: boolean;
  /** The one kind of lie that most of what Byzantine members do is about. */
  readonly scheme: SchemeName | null;
  /** Byzantine members mostly do one thing, again and again. */
  readonly stubborn: boolean;
  /** After the storm, Byzantine members split every slot that they can for ten minutes. */
  readonly splitting: boolean;
  /** How much of the storm is theirs. */
  readonly mischief: number;
  /** A certified GENESIS stands on every disk from the start. */
  readonly opened: boolean;
  /** Members still away when the storm has passed; with the Byzantine ones at most f. */
  readonly absent: number;
  readonly authors: number;
  readonly postsPerAuthor: number;
  readonly steps: number;
  readonly crash: number;
  readonly restart: number;
  /** A turn is lost whole, before its commit. */
  readonly die: number;
  /** A member's store begins to refuse every write, for a while. */
  readonly diskFull: number;
  readonly disconnect: number;
  readonly connect: number;
  /** Some members lose the Router at once and cannot come back for a while. */
  readonly partition: number;
  readonly bagLoss: number;
  readonly repeat: number;
  /** Which lane envelopes do not open at times for single members, and how often. */
  readonly laneLossOf: "evidence" | "certificates" | "proposals" | "any";
  readonly laneLoss: number;
  /** Losses come in spells in which a member understands nothing, not one by one. */
  readonly deafness: number;
  /** The Router loses part of a mailbox and says so. */
  readonly gap: number;
  readonly clockJump: number;
  /** An owner asks for another round. */
  readonly ownerWish: number;
  /** A member wishes for a round far beyond the others', for no cause. */
  readonly slip: number;
  /** An owner withdraws a post that has not ended. */
  readonly ownerWithdraw: number;
  /** Owners change their minds about letting the others open the conversation. */
  readonly contactPolicy: number;
  readonly router: RouterKind;
  /** How often the Router does what its kind says. */
  readonly routerFault: number;
  /** Members whose disk comes back as it was earlier; with the Byzantine and absent ones at most f where n >= 4. */
  readonly restored: number;
  /** Nobody tells the one whose disk came back: it finds out by a vote of its own, or not at all, and counts among the f. */
  readonly silent: boolean;
  /** Answers to a restored member's questions of before its loss come once more. */
  readonly lateAnswers: number;
  /** Every honest member has a real endpoint store and a host that reads its inbox. */
  readonly ingress: boolean;
  /** Ed25519 instead of a keyed hash, and every envelope sealed, opened and decoded by the product's own code. */
  readonly real: boolean;
}

/** The faults that a failing run may turn out not to need: setting one to 0 takes it away. */
export const faults = [
  "mischief",
  "absent",
  "crash",
  "die",
  "diskFull",
  "disconnect",
  "partition",
  "bagLoss",
  "repeat",
  "laneLoss",
  "deafness",
  "gap",
  "clockJump",
  "ownerWish",
  "ownerWithdraw",
  "contactPolicy",
  "routerFault",
  "restored",
  "lateAnswers",
] as const satisfies ReadonlyArray<keyof Environment>;
