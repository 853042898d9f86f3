// Bugs of webhook delivery: what is lost, what comes twice or changed, who is called without having been asked, and what
// outlives its end.

import { files, type SurfaceMutant } from "./SurfaceMutant.ts";

const webhooks = "packages/endpoint/src/webhooks";
const delivery = `${webhooks}/Delivery.ts`;
const lifeCycle = `${webhooks}/LifeCycle.ts`;
const occurrence = `${webhooks}/Occurrence.ts`;
const service = `${webhooks}/Webhooks.ts`;
const verification = `${webhooks}/Verification.ts`;
const posting = `${webhooks}/Posting.ts`;
const attempts = `${webhooks}/Attempts.ts`;
const events = "packages/endpoint/src/mcp/Events.ts";
const subscriptions = "packages/endpoint/src/mcp/Subscriptions.ts";

const model = { file: files.webhookModel, title: "their one-page model" };

export const webhookMutants: ReadonlyArray<SurfaceMutant> = [
  {
    name: "envelope-one-byte-over",
    why: "A receiver refuses what is over the draft's bound, and a refusal for size is for good.",
    edits: [
      {
        file: occurrence,
        text: "whole.byteLength <= Limits.envelopeBytesMax",
        replacement: "whole.byteLength <= Limits.envelopeBytesMax + 1",
      },
    ],
    test: { file: files.webhookDelivery, title: "an envelope over 262,144 bytes" },
  },
  {
    name: "one-signature-for-all-attempts",
    why: "A receiver refuses what was signed minutes ago, so no late retry would be taken.",
    edits: [{ file: posting, text: "Math.floor(at / 1_000)", replacement: "Math.floor(at / 1e9)" }],
    test: { file: files.webhookDelivery, title: "every attempt sends the stored bytes" },
  },
  {
    name: "delivery-before-recovery",
    why: "What recovery retires at a start would be sent before that.",
    edits: [
      { file: service, text: "if (enabled && started) delivery.wake();", replacement: "delivery.wake();" },
    ],
    test: { file: files.webhooks, title: "without credentials a registration rests" },
  },
  {
    name: "outcome-of-another-item",
    why: "An item that left the inbox meanwhile would lend its answer to the next one.",
    edits: [
      {
        file: delivery,
        text: "registration === null || Occurrence.current(db)?.deliveryToken !== deliveryToken",
        replacement: "registration === null",
      },
    ],
    test: model,
  },
  {
    name: "attempt-outlives-revocation",
    why: "The answer of a callback that was revoked would count for the one after it.",
    edits: [{ file: delivery, text: "      flight?.abort.abort();\n      flight = null;", replacement: "" }],
    test: { file: files.webhooks, title: "a revocation takes the delivery" },
  },
  {
    name: "refresh-forgets-failures",
    why: "A receiver that is down would never be given up while its subscriber refreshes.",
    edits: [
      {
        file: lifeCycle,
        text: "must not be a way around either.\n    granted: stays,",
        replacement: "must not be a way around either.\n    granted: begins,",
      },
    ],
    test: model,
  },
  {
    name: "never-suspended",
    why: "A receiver that is gone for good would be called for ever.",
    edits: [
      {
        file: lifeCycle,
        text: "attempts >= Limits.suspendAttemptsMin &&",
        replacement: "attempts >= 10 * Limits.suspendAttemptsMin &&",
      },
    ],
    test: { file: files.webhookFailing, title: "a hundred failures over an hour suspend" },
  },
  {
    name: "challenge-half-compared",
    why: "A receiver could pass by guessing the beginning.",
    edits: [
      {
        file: verification,
        text: "timingSafeEqual(digestOf(echo), digestOf(challenge))",
        replacement: "challenge.startsWith(echo)",
      },
    ],
    test: { file: files.webhookVerification, title: "without the echo nothing is registered" },
  },
  {
    name: "verification-for-any-secret",
    why: "A rotated secret that its receiver does not know would be believed.",
    edits: [
      {
        file: verification,
        text: 'digestOf(secret).toString("base64url")',
        replacement: "secret.slice(0, 6)",
      },
    ],
    test: { file: files.webhookVerification, title: "a passed challenge counts for ten minutes" },
  },
  {
    name: "resumed-while-resting",
    why: "An owner would wait for deliveries that the daemon's mode never makes.",
    edits: [{ file: service, text: 'if (!enabled) return { kind: "resting" };', replacement: "" }],
    test: { file: files.webhooks, title: "a registration that rests says so" },
  },
  {
    name: "lease-ends-in-silence",
    why: "Nobody would hear that nothing is delivered any more.",
    edits: [
      {
        file: delivery,
        text: 'if (ended !== null) notices.stands(ended.standing, "its lease ended");',
        replacement: "void ended;",
      },
    ],
    test: { file: files.webhookNotices, title: "the end of a lease is told by the clock" },
  },
  {
    name: "own-word-to-subscriber",
    why: "A subscriber of the draft knows no other words than the draft's.",
    edits: [
      { file: subscriptions, text: "{ reason: draftErrorOf(error) }", replacement: "{ reason: error }" },
    ],
    test: { file: files.callbackFailures, title: "told why in words of its own" },
  },
  {
    name: "ended-subscription-comes-back",
    why: "The answer to a challenge would bring back what was unsubscribed meanwhile.",
    edits: [
      {
        file: service,
        text: "if (challenge.over !== null) return { kind: challenge.over };",
        replacement: "",
      },
    ],
    test: { file: files.webhooks, title: "not brought back by the answer" },
  },
  {
    name: "older-subscription-comes-last",
    why: "The slow answer to an older call would bring back the secret and the lease of then.",
    edits: [{ file: service, text: "    supersede(target.subscriptionId, mine);\n", replacement: "" }],
    test: { file: files.webhookSuccession, title: "the later counts, whoever answers first" },
  },
  {
    name: "challenges-of-all-ended",
    why: "One credential could keep the other from ever subscribing.",
    edits: [
      {
        file: service,
        text: "endChallenges((challenge) => challenge.subscriptionId === subscriptionId);",
        replacement: "endChallenges(() => true);",
      },
    ],
    test: { file: files.webhookSuccession, title: "ends no challenge of another principal" },
  },
  {
    name: "close-before-challenges",
    why: "What waits for a callback would come back to a store that is closed.",
    edits: [{ file: service, text: ", Promise.allSettled(underway)]", replacement: "]" }],
    test: { file: files.webhookSuccession, title: "a close cuts off the challenges" },
  },
  {
    name: "answer-lost-with-its-record",
    why: "On a full disk a receiver would be asked every few seconds for what it has answered.",
    edits: [
      {
        file: delivery,
        text: "    const standing = db.transaction(() => record(db, outcome));\n    answered = null;",
        replacement: "    answered = null;\n    const standing = db.transaction(() => record(db, outcome));",
      },
    ],
    test: { file: files.webhookFailingStore, title: "is asked for once" },
  },
  {
    name: "passed-challenge-lost",
    why: "On a full disk each try to subscribe would send another challenge.",
    edits: [
      {
        file: service,
        text: "      if (error === null && challenge.over === null) verifications.remember(target);\n",
        replacement: "",
      },
      {
        file: service,
        text: "      return grant(target, ttlMs, challenge);",
        replacement: "      verifications.remember(target);\n      return grant(target, ttlMs, challenge);",
      },
    ],
    test: { file: files.webhookFailingStore, title: "a challenge that was passed is not sent again" },
  },
  {
    name: "late-defect-ends-another-flight",
    why: "An attempt that was abandoned would have its successor sent twice.",
    edits: [{ file: delivery, text: "if (flight === mine) flight = null;", replacement: "flight = null;" }],
    test: { file: files.webhookFailingStore, title: "leaves its successor alone" },
  },
  {
    name: "idle-lease-without-timer",
    why: "A lease that ends in silence would be noted by nobody.",
    edits: [
      {
        file: delivery,
        text: "if (due === null) return wakeIn(leaseLeft);",
        replacement: "if (due === null) return;",
      },
    ],
    test: { file: files.webhookLeaseEnd, title: "a lease ends by the clock" },
  },
  {
    name: "retry-outwaits-lease",
    why: "The end of a lease would be told minutes late.",
    edits: [{ file: delivery, text: "wakeIn(Math.min(wait, leaseLeft))", replacement: "wakeIn(wait)" }],
    test: { file: files.webhookLeaseEnd, title: "a lease ends by the clock" },
  },
  {
    name: "offer-after-lease",
    why: "An expired registration would have a delivery that never began.",
    edits: [
      {
        file: delivery,
        text: "if (LifeCycle.delivers(standing.state)) Occurrence.offer(db);",
        replacement: "Occurrence.offer(db);",
      },
    ],
    test: { file: files.webhookLeaseEnd, title: "a receipt after the end of the lease" },
  },
  {
    name: "verified-in-the-future",
    why: "With a clock that was set back a passed challenge would count for hours.",
    edits: [{ file: verification, text: "age >= 0 && ", replacement: "" }],
    test: { file: files.webhookLeaseEnd, title: "no challenge counts longer" },
  },
  {
    name: "timer-without-bound",
    why: "A timer of more than 24 days fires at once, again and again.",
    edits: [
      {
        file: delivery,
        text: "Math.min(Math.max(delayMs, 0), Limits.leaseMsMax)",
        replacement: "Math.max(delayMs, 0)",
      },
    ],
    test: { file: files.webhookLeaseEnd, title: "no timer waits longer" },
  },
  {
    name: "subscription-without-principal",
    why: "One credential could end or refresh what belongs to the other.",
    edits: [{ file: service, text: "[scope, principal, url,", replacement: '[scope, "principal", url,' }],
    test: { file: files.webhooks, title: "unsubscribing ends one's own" },
  },
  {
    name: "stream-beside-webhook",
    why: "Two consumers would take the same items.",
    edits: [
      {
        file: events,
        text: "if (Subscriptions.asked(consumers.isConsumedByWebhook)) {",
        replacement: "if (Subscriptions.asked(() => false)) {",
      },
    ],
    test: { file: files.subscriptions, title: "takes over from the stream" },
  },
  {
    name: "drop-leaves-delivery",
    why: "What the owner discarded would be sent.",
    edits: [
      { file: occurrence, text: "  clear(db);\n  const registration", replacement: "  const registration" },
    ],
    test: { file: files.webhookDelivery, title: "leaves the inbox by another way" },
  },
  {
    name: "attempts-without-bound",
    why: "A receiver that is down for months would fill the disk.",
    edits: [{ file: attempts, text: "    Limits.attemptsKept,", replacement: "    1e9," }],
    test: { file: files.webhookDelivery, title: "the log of attempts is bounded" },
  },
];
