// What one seed decides: who talks with whom, when a conversation opens, who is struck in which round and at what instant.
// Pure. The instants are drawn, the rest of a run is real: the same seed strikes in the same way, not at the same step.

import { createHash } from "node:crypto";
import { createRandom, type Random } from "../simulation/Random.ts";

export const cast: ReadonlyArray<string> = [
  "ada-agent",
  "bob-agent",
  "cyd-agent",
  "dan-agent",
  "eve-agent",
  "fay-agent",
];

/** With `ingress`, these agents' hosts are reached by webhook, and the second one's owner has a firewall. */
export const hooked: ReadonlyArray<string> = ["ada-agent", "bob-agent"];
export const walled = "bob-agent";

/** Registry and Router in one process, as `network start` runs them, or each in its own. */
export type Services = "together" | "apart";

export const serviceNames: Readonly<Record<Services, ReadonlyArray<string>>> = {
  together: ["network"],
  apart: ["registry", "router"],
};

export interface Conversation {
  readonly members: ReadonlyArray<string>;
  /** The round before which its first post is written; 0 for the beginning. */
  readonly opensAt: number;
}

export interface Aim {
  readonly endpoint: string;
  /** A `delivery` is one that reaches the receiver of a webhook. */
  readonly tool: "send_message" | "acknowledge_delivery" | "delivery";
  readonly lateMs: number;
}

export interface Strike {
  readonly victims: ReadonlyArray<string>;
  /** From the beginning of the round, under traffic. */
  readonly afterMs: number;
  /** So long after the next call of a tool has begun: what is promised at all is promised within milliseconds of one. */
  readonly aim: Aim | null;
  /** `kill`: SIGKILL, then a restart. `pause`: SIGSTOP, then SIGCONT. */
  readonly kind: "kill" | "pause";
  /** SIGTERM so long before the SIGKILL, which then finds them stopping or stopped; null for no warning. */
  readonly warnedMs: number | null;
  /** How long the victims are away before they are started or go on. */
  readonly awayMs: number;
  /** Each is another SIGKILL, so long after the beginning of the life before it: in its start, or soon after. */
  readonly againMs: ReadonlyArray<number>;
}

export interface Plan {
  readonly seed: number;
  readonly ingress: boolean;
  readonly services: Services;
  readonly conversations: ReadonlyArray<Conversation>;
  readonly strikes: ReadonlyArray<Strike>;
}

export interface PlanOptions {
  readonly seed: number;
  readonly rounds: number;
  readonly services?: Services;
  /** Some agents have webhooks and a firewall, and most strikes are theirs. */
  readonly ingress?: boolean;
  /** Every strike is a pause that lasts so long; without it, most are kills and pauses are short. */
  readonly pauseMs?: number;
}

/** A stream of its own for each user, so that none of them shifts another one's draws. */
export const randomOf = (seed: number, label: string): Random =>
  createRandom(createHash("sha256").update(`${seed} ${label}`).digest().readUInt32BE(0));

const [ada, bob, cyd, dan, eve, fay] = cast as [string, string, string, string, string, string];

const fromTheBeginning: ReadonlyArray<ReadonlyArray<string>> = [
  [ada, bob],
  [cyd, dan],
  [eve, fay],
  [bob, eve],
  [ada, bob, cyd],
  [cyd, dan, eve, fay],
];

/** Their GENESIS, which needs every member, falls among the strikes. */
const later: ReadonlyArray<ReadonlyArray<string>> = [
  [ada, fay],
  [dan, eve, fay],
  [bob, dan],
  [ada, bob, dan, fay],
  [cyd, eve],
  [ada, cyd],
];

const afterMsMax = 1_000;
const lateMsMax = 12;
/** A clean stop takes some tens of milliseconds. */
const warnedMsMax = 80;
const awayMsMax = 300;
/** A start takes a good part of this, and some kills shall find a daemon that has just come back. */
const againMsMax = 1_200;
const pauseMsMax = 2_000;

/** What a kill has to do with: mostly the call of a tool, at a hooked endpoint as often a delivery to its receiver. */
const toolOf = (random: Random, endpoint: string, ingress: boolean): Aim["tool"] => {
  if (ingress && hooked.includes(endpoint) && random.chance(0.6)) return "delivery";
  return random.chance(0.7) ? "send_message" : "acknowledge_delivery";
};

const strikeOf = (
  random: Random,
  services: Services,
  ingress: boolean,
  pauseMs: number | undefined,
): Strike => {
  const everybody = [...cast, ...serviceNames[services]];
  const draw = random.next();
  const endpoints = ingress ? [...cast, ...hooked, ...hooked, ...hooked] : cast;
  const first = random.chance(0.25) ? random.pick(serviceNames[services]) : random.pick(endpoints);
  const another = random.pick(everybody.filter((name) => name !== first));
  const kind = random.chance(0.1) || pauseMs !== undefined ? "pause" : "kill";
  const again = random.chance(0.4) ? (random.chance(0.3) ? 2 : 1) : 0;
  const endpoint = cast.includes(first) ? first : random.pick(cast);
  const aim: Aim = {
    endpoint,
    tool: toolOf(random, endpoint, ingress),
    lateMs: random.below(lateMsMax),
  };
  const victims = kind === "pause" || draw < 0.82 ? [first] : draw < 0.93 ? [first, another] : everybody;
  return {
    victims,
    afterMs: random.below(afterMsMax),
    aim: kind === "kill" && random.chance(0.6) ? aim : null,
    kind,
    warnedMs: kind === "kill" && random.chance(0.15) ? random.below(warnedMsMax) : null,
    awayMs: kind === "pause" ? (pauseMs ?? 500 + random.below(pauseMsMax - 500)) : random.below(awayMsMax),
    againMs: kind === "pause" ? [] : Array.from({ length: again }, () => random.below(againMsMax)),
  };
};

export const make = ({ seed, rounds, services: wanted, ingress = false, pauseMs }: PlanOptions): Plan => {
  const random = randomOf(seed, "plan");
  const services = random.pick<Services>(["together", "apart"]);
  const conversations = [
    ...fromTheBeginning.map((members) => ({ members, opensAt: 0 })),
    ...later.map((members) => ({ members, opensAt: 1 + random.below(Math.max(rounds - 1, 1)) })),
  ];
  const strikes = Array.from({ length: rounds }, () =>
    strikeOf(random, wanted ?? services, ingress, pauseMs),
  );
  return { seed, ingress, services: wanted ?? services, conversations, strikes };
};

/** One strike in words. */
export const describe = ({ victims, afterMs, aim, kind, warnedMs, awayMs, againMs }: Strike): string => {
  const who = victims.length > 2 ? "everybody" : victims.join(" and ");
  if (kind === "pause") return `${who} stopped (SIGSTOP) after ${afterMs} ms, for ${awayMs} ms`;
  const aimed = aim === null ? "" : ` and ${aim.lateMs} ms into a ${aim.tool} at ${aim.endpoint}`;
  const again = againMs.map((ms) => `, again ${ms} ms into the next life`).join("");
  const warned = warnedMs === null ? "" : `, ${warnedMs} ms after a SIGTERM`;
  return `${who} killed after ${afterMs} ms${aimed}${warned}, away for ${awayMs} ms${again}`;
};
