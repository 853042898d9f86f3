// The Router as members meet it: one instance after another, each with the conversation's lane and a bag of single-recipient
// envelopes for each member. An honest instance shows everybody one lane; one that equivocates shows each member another
// order, and not everything. Knows no packet: what an envelope holds is the members' affair.

import type { Packet } from "@social-harness/protocol/conversation/Packet";
import {
  type AgentId,
  type AnchorHash,
  RouterInstanceId,
} from "@social-harness/protocol/identity/Identifier";
import type { Sealed } from "@social-harness/router/seal/Sealed";
import type { Random } from "./Random.ts";

/** An envelope that the Router accepted. */
export interface Envelope {
  readonly from: AgentId;
  readonly packets: ReadonlyArray<Packet>;
  readonly laneSequence: number | null;
  /** Members who cannot open it: for them it is absent. */
  readonly closedTo: ReadonlySet<AgentId>;
  /** What travels, where a run seals in earnest. */
  readonly sealed: Sealed | null;
}

export interface RouterInstance {
  readonly id: RouterInstanceId;
  /** What each member is shown of the lane: one and the same array while no order was forked. */
  views: ReadonlyArray<Array<Envelope>>;
  bags: ReadonlyArray<Array<Envelope>>;
  /** What an equivocating instance decides by; null while it is honest. */
  fork: Random | null;
  /** How long the lane was after each time that the log came back older than it had been. */
  readonly rollbacks: Array<number>;
}

/** Envelopes of a lane that an equivocating Router shows a member, of all that it accepts. */
const shownByForks = 0.9;

export const createInstance = (number: number, memberCount: number): RouterInstance => {
  const lane: Array<Envelope> = [];
  return {
    id: RouterInstanceId.fromBytes(Buffer.alloc(16, 7 + number)),
    views: Array.from({ length: memberCount }, () => lane),
    bags: Array.from({ length: memberCount }, () => []),
    fork: null,
    rollbacks: [],
  };
};

export const viewOf = (instance: RouterInstance, index: number): Array<Envelope> =>
  instance.views[index] as Array<Envelope>;

export const bagOf = (instance: RouterInstance, index: number): Array<Envelope> =>
  instance.bags[index] as Array<Envelope>;

/** From here on each member has its own lane, which begins with what was common. */
export const fork = (instance: RouterInstance, random: Random): void => {
  if (new Set(instance.views).size === 1) instance.views = instance.views.map((view) => [...view]);
  instance.fork = random;
};

/** Puts an envelope into the lane; `takenIn` says how much of its view a member has read already. */
export const append = (
  instance: RouterInstance,
  envelope: Envelope,
  takenIn: (index: number) => number,
): void => {
  const { fork: random, views } = instance;
  if (random === null) {
    for (const view of new Set(views)) view.push(envelope);
    return;
  }
  views.forEach((view, index) => {
    if (!random.chance(shownByForks)) return;
    const unread = view.length - Math.min(view.length, takenIn(index));
    view.splice(view.length - random.below(unread + 1), 0, envelope);
  });
};

/** The log comes back as it was when the lane had `length` envelopes; unread single ones of later times are gone too. */
export const rollBack = (instance: RouterInstance, length: number, random: Random): void => {
  for (const view of new Set(instance.views)) view.length = Math.min(view.length, length);
  for (const bag of instance.bags) bag.length = random.below(bag.length + 1);
  instance.rollbacks.push(length);
};

/** How one member stands to the instances that it has met. */
export interface Binding {
  instance: RouterInstance;
  /** Rollbacks of this instance that the member has met. */
  rollbacksMet: number;
  /** How far it had read in instances that it left. */
  readonly cursors: Map<RouterInstance, number>;
  /** The anchor that its conversation stood under when its Router last changed or forgot. */
  formerAnchor: AnchorHash | null;
}

export const bindingTo = (instance: RouterInstance): Binding => ({
  instance,
  rollbacksMet: 0,
  cursors: new Map(),
  formerAnchor: null,
});

/** Binds a member to an instance, or shows it that its own has forgotten. Returns from where it reads on. */
export const meet = (
  binding: Binding,
  instance: RouterInstance,
  cursor: number,
  anchorHash: AnchorHash | null,
): number => {
  const isOther = binding.instance !== instance;
  if (isOther) binding.cursors.set(binding.instance, cursor);
  const known = isOther ? (binding.cursors.get(instance) ?? 0) : cursor;
  const left = Math.min(known, ...instance.rollbacks.slice(isOther ? 0 : binding.rollbacksMet));
  if (isOther || left !== known) binding.formerAnchor = anchorHash;
  binding.instance = instance;
  binding.rollbacksMet = instance.rollbacks.length;
  return left;
};
