// What an endpoint counts since its start, and how it stands, as one page for its owner's monitoring. Every label is one of a
// closed set of words of this program: no agent, address or id appears in it, so the number of series is bounded.
// Implements RUN-142 to RUN-144.

import * as PrometheusText from "@social-harness/protocol/encoding/PrometheusText";
import { type Verifier, verifierOf } from "@social-harness/protocol/identity/Signing";
import type { Observer } from "../conversations/ActiveAgent.ts";
import type { EndedIntent } from "../conversations/Conversations.ts";
import { version } from "../Version.ts";
import type { Attempt } from "./EventSubscription.ts";
import type { Health } from "./Health.ts";
import * as Histogram from "./Histogram.ts";
import * as ProcessMeasures from "./ProcessMeasures.ts";

export interface Metrics extends Observer {
  /** A call to the webhook's receiver came to an end. */
  readonly attempted: (attempt: Pick<Attempt, "purpose" | "category">) => void;
  /** The same verdicts, counted. */
  readonly counting: (verifier: Verifier) => Verifier;
  readonly text: (standing: Standing) => string;
}

export interface Standing {
  readonly health: Health;
  /** The store's file; its write-ahead log stands beside it. */
  readonly database: string;
}

/** From a message between two neighbours to a member that comes back after half a day. */
const latencySeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600, 43_200];

const { single, counterBy } = PrometheusText;
const gauge = (name: string, help: string, value: number): PrometheusText.Family =>
  single("gauge", `social_harness_${name}`, help, value);
const counter = (name: string, help: string, value: number): PrometheusText.Family =>
  single("counter", `social_harness_${name}`, help, value);

/** Of nothing but the one trouble that there is: the others have no series then. */
const troubleOf = ({ routerTrouble }: Health): PrometheusText.Family => ({
  name: "social_harness_router_trouble",
  type: "gauge",
  help: "1 for the reason why the Router is not connected.",
  samples: routerTrouble === null ? [] : [{ labels: { reason: routerTrouble.reason }, value: 1 }],
});

const standingOf = ({ health, database }: Standing): ReadonlyArray<PrometheusText.Family> => [
  gauge("registered", "1 once the endpoint has an agent.", Number(health.registered)),
  gauge("router_connected", "1 while the Router is connected.", Number(health.routerConnected)),
  troubleOf(health),
  gauge(
    "router_refusing",
    "1 while the connected Router refuses what it is sent.",
    Number(health.routerRefusing !== null),
  ),
  gauge("router_equivocations", "Places for which the Router signed two orders.", health.routerEquivocations),
  gauge("conversations_changing", "Conversations that wait for a new round.", health.conversationsChanging),
  gauge(
    "conversations_recovering",
    "Conversations that recover from a lost memory.",
    health.restored?.conversations ?? 0,
  ),
  gauge("pending_items", "Items of the inbox that nobody acknowledged.", health.pendingItems),
  gauge("pending_posts", "Own posts that are neither certified nor ended.", health.pendingPosts),
  gauge("outbox_envelopes", "Envelopes that the Router has not accepted.", health.outboxEnvelopes),
  gauge("held_items", "Items that the firewall holds.", health.firewall?.heldItems ?? 0),
  gauge("queued_items", "Items that the firewall judges or will judge.", health.firewall?.queuedItems ?? 0),
  gauge(
    "firewall_usable",
    "0 while the firewall's file cannot be used.",
    Number(health.firewall?.file !== "unusable"),
  ),
  ...ProcessMeasures.ofFile("store", "store", database),
];

export const create = (startedAt: number): Metrics => {
  let certified = 0;
  const ended = new Map<EndedIntent["outcome"], number>();
  const latency = Histogram.create(latencySeconds);
  const attempts = new Map<Attempt["purpose"], Map<Attempt["category"], number>>();
  const verified = { valid: 0, invalid: 0 };

  const counted = (): ReadonlyArray<PrometheusText.Family> => [
    counter("certified_records_total", "Records that became certified here.", certified),
    counterBy("social_harness_own_posts_total", "Own posts that ended, by outcome.", "outcome", ended),
    {
      name: "social_harness_certification_seconds",
      type: "histogram",
      help: "From taking an own post to its certificate.",
      samples: latency.samples(),
    },
    {
      name: "social_harness_webhook_attempts_total",
      type: "counter",
      help: "Calls to the webhook's receiver, by purpose and by what came of them.",
      samples: [...attempts].flatMap(([purpose, categories]) =>
        [...categories].map(([category, value]) => ({ labels: { purpose, category }, value })),
      ),
    },
    counterBy(
      "social_harness_signatures_verified_total",
      "Signatures of others that were verified as they came, by verdict.",
      "verdict",
      new Map(Object.entries(verified)),
    ),
  ];

  return {
    certified: (records) => {
      certified += records;
    },
    ended: ({ outcome }, takenAt, endedAt) => {
      ended.set(outcome, (ended.get(outcome) ?? 0) + 1);
      // A clock that was set back meanwhile makes it look as if it had ended before.
      if (outcome === "certified") latency.observe(Math.max(0, endedAt - takenAt) / 1_000);
    },
    attempted: ({ purpose, category }) => {
      const categories = attempts.get(purpose) ?? new Map<Attempt["category"], number>();
      attempts.set(purpose, categories.set(category, (categories.get(category) ?? 0) + 1));
    },
    counting: ({ verifyText }) =>
      verifierOf((...signed) => {
        const verdict = verifyText(...signed);
        verified[verdict ? "valid" : "invalid"] += 1;
        return verdict;
      }),
    text: (standing) =>
      PrometheusText.encode([
        ...standingOf(standing),
        ...counted(),
        ...ProcessMeasures.ofProcess(startedAt, version),
      ]),
  };
};
