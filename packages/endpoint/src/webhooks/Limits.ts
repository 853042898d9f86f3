// Every bound of webhook delivery, each with the reason for its number. Units stand last in names.

/** A subscriber that does not come back within a day has forgotten; it is also what it gets without asking. */
export const leaseMsMax = 86_400_000;
/** A shorter lease would be refreshed more often than events come. */
export const leaseMsMin = 60_000;
/**
 * No attempt starts this near to the end of a lease: as long as a callback may take. Some receivers answer 410 to what arrives
 * when the lease is over by their clock, and a 410 is for good.
 */
export const leaseRestMsMin = 10_000;

/** A refresh repeats within minutes; whoever holds a URL now is asked again before long. */
export const verificationMsMax = 600_000;
/** Verified callbacks that are remembered: one endpoint has one or two in ten minutes. */
export const verificationsMax = 16;
/** Challenges in one minute: a subscriber must not make this endpoint a stranger's load generator. */
export const challengesPerMinuteMax = 10;
export const challengeWindowMs = 60_000;

/** The whole body of one delivery, as the Events draft bounds it. */
export const envelopeBytesMax = 262_144;

/** The first retry; each one after it waits twice as long, up to the maximum. */
export const retryMsMin = 1_000;
/** Also the most that a receiver's Retry-After is believed. */
export const retryMsMax = 300_000;
/** Both must be reached before a delivery is given up until somebody acts: a short outage never gets there. */
export const suspendAttemptsMin = 100;
export const suspendSpanMsMin = 3_600_000;

/** A store that fails is tried again after this. */
export const storeRetryMs = 5_000;
/** What an attempt that is under way gets to end by itself in a clean stop. */
export const graceMs = 1_000;

/** Attempts that are remembered for the owner: a day and more of a receiver that is down. */
export const attemptsKept = 512;
