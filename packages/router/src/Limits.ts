// Every bound of the Router and its client, each with the reason for its number. Units stand last in names.
// The sizes that other subsystems share (frame, envelope, depth) live in the protocol's own Limits.

import * as Protocol from "@social-harness/protocol/Limits";

/** One WebSocket message in either direction, and the envelope inside it. */
export const frameBytesMax = Protocol.routerFrameBytesMax;
export const envelopeBytesMax = Protocol.envelopeBytesMax;
/** A conversation's members; one recipient is a unicast. */
export const recipientsMax = Protocol.membersMax;

/** The JWE protected header has fixed members and one key: 156 characters encoded. */
export const protectedHeaderCharactersMax = 256;
/** A content key wraps at most this much before it is drawn again: far below the 2^32 that random IVs allow. */
export const envelopesPerContentKeyMax = 1_048_576;
export const contentKeyLifetimeMs = 3_600_000;
/** Recipient sets whose content key a sender keeps; the oldest goes first and is simply drawn again. */
export const contentKeysKeptMax = 1_024;
/** Unwrapped content keys that a receiver keeps: several senders each in a thousand conversations. */
export const openedKeysKeptMax = 4_096;

/** Unacknowledged deliveries of one connection, whichever comes first. One delivery always fits. */
export const windowDeliveriesMax = 256;
export const windowBytesMax = 4_194_304;
/** Sends of one connection that wait for their commit; the socket is not read beyond this. */
export const pendingSendsMax = 256;

/** The hello must finish within this; a socket that says nothing costs a slot no longer. */
export const helloMs = 10_000;
/** Ping interval both ways; a peer that answered nothing for two of them is gone. */
export const heartbeatMs = 15_000;
/** Live sockets, authenticated or not: each costs about 20 kB before any delivery. */
export const connectionsMax = 16_384;

/**
 * Sockets whose caller is not known yet. Beyond these the one that came first is ended: several times more than are between
 * their accept and their hello when thousands of agents come back within the half minute over which their attempts spread, and
 * few enough that a process with 1,024 descriptors keeps half of them.
 */
export const strangersMax = 512;
/** From a connection's first moment to the end of its TLS handshake, and from there to the end of a request's head. */
export const headMs = 5_000;
/** From a request's first byte to its last; none that is answered here has a body. */
export const requestMs = 10_000;
/** An upgrade and the probes have a few short headers. */
export const headBytesMax = 8_192;

/** A body is kept until every recipient acknowledged it, at most this long. */
export const retentionMs = 2_592_000_000;
/** A repeated send finds its first acceptance for this long, acknowledged or not. */
export const dedupeMs = 2_592_000_000;
/** Unacknowledged envelope bytes of one mailbox. */
export const mailboxBytesMax = 1_073_741_824;

/** How long acknowledgments wait to be written together. A crash forgets them, which only repeats deliveries. */
export const acknowledgeDelayMs = 50;
/** Rows of a mailbox that are looked up at once when its owner catches up. */
export const mailboxPageRowsMax = 64;
/** Bodies accepted last that are kept in memory for recipients a little behind: some 4,000 posts, or 30 of the largest. */
export const recentBodiesBytesMax = 16_777_216;
/** How often bodies and repeats past their time are looked for, and how many are dropped in one transaction. */
export const expireIntervalMs = 60_000;
export const expireBatchMax = 256;

/** Sustained sends of one agent, and the burst above them: ten times what the busiest honest member needs. */
export const sendsPerSecond = 1_000;
export const sendBurst = 5_000;
/** Sustained bytes of one agent: some twenty of the largest envelopes a second, with four seconds of burst. */
export const sendBytesPerSecond = 8_388_608;
export const sendBytesBurst = 33_554_432;
/** Senders whose budget is remembered; the longest silent is forgotten first, and starts with a full one. */
export const budgetsKeptMax = 65_536;

/** Written but unread bytes above the delivery window: some 7,000 replies that a client asked for and never read. */
export const unreadReplyBytesMax = 1_048_576;
/** A peer that does not answer a close within this is cut off. */
export const closeMs = 1_000;

/** How long a client's acknowledgment waits for others to go with it: a frame for each delivery costs both sides more. */
export const clientAcknowledgeDelayMs = 20;
/** It waits no longer once this part of the Router's window is used up, so that the window never closes for it. */
export const clientAcknowledgeDeliveriesMax = 64;
export const clientAcknowledgeBytesMax = 1_048_576;
/** A client's sends that are on the wire without an answer. */
export const clientInFlightMax = 64;
/**
 * Reconnection starts at the minimum, doubles with jitter to the maximum, and starts over once a connection has brought
 * something or has stood this long: one that is lost at each send is as bad as none.
 */
export const steadyMs = 2_000;
export const backoffMsMin = 100;
export const backoffMsMax = 30_000;
