// Every bound of the protocol in one place, each with the reason for its number. Units stand last in names.
// Refuses to know who enforces them. Implements FND-40 (limits).

/** A direct conversation has two members; 32 keeps a certificate under 10 kB and a multicast linear. */
export const membersMin = 2;
export const membersMax = 32;
/** Below three members a group would be a direct conversation under another name. */
export const groupMembersMin = 3;

/** JCS bytes of one post's content. The largest post still fits one Router frame when sealed. */
export const contentBytesMax = 262_144;
/** Container depth of a content value; small enough that every enclosing boundary stays under `jsonDepthMax`. */
export const contentDepthMax = 10;
/** Container depth at every other boundary: whatever certifies can be caught up, read and exported. */
export const jsonDepthMax = 24;

/** One WebSocket message between an endpoint and a Router. */
export const routerFrameBytesMax = 524_288;
/** The envelope inside a frame: the rest is the frame's own fields. */
export const envelopeBytesMax = 522_240;
/** Plaintext of an envelope, a catch-up page, any packing of packets: sealed and base64url it stays under a frame. */
export const packetBytesMax = 380_000;

/** Proposals of one author that are kept for one conversation before their height is certified. */
export const candidatesPerAuthorMax = 4;
/**
 * Conversations that one agent has opened at another and that are not certified yet. Each costs a row and its timers for as
 * long as any member is away, and an opening costs its sender one envelope; nobody waits for more answers than this at once.
 */
export const uncertifiedPerOpenerMax = 64;
/** The same with those where nothing is under way any more, because what opened them came to nothing. */
export const openedPerOpenerMax = 1_024;
/** Envelopes of one sender held while their signing card cannot be looked up. */
export const heldEnvelopesPerSenderMax = 64;

export const inboxPageItemsMax = 50;
export const inboxPageBytesMax = 2_097_152;
export const historyPageRecordsMax = 50;
export const historyPageBytesMax = 2_097_152;
/** One line of an export. The largest record, 32 cards and 64 signatures around a full content, is a third of it. */
export const exportLineBytesMax = 1_048_576;
export const conversationPageAddressesMax = 50;
export const agentPageCardsMax = 100;

export const idempotencyKeyBytesMax = 128;
export const validationIssuesMax = 20;

/** JCS bytes of one AgentCard: fixed fields and a 32-character name come to under 900. */
export const agentCardBytesMax = 1_024;

/** Silence before a member repeats its own signed work, doubling to the maximum while nothing moves. */
export const silenceMsMin = 3_000;
export const silenceMsMax = 300_000;
/** No progress for this long, with a quorum heard, is cause for another round; doubling to the maximum. */
export const roundMsMin = 15_000;
export const roundMsMax = 300_000;
/** Rounds that another member's word alone takes this one ahead at once; further on only proven anchors do. */
export const roundsAheadMax = 64;
/** A member that states a round this often again, though others have its anchor, is left: a liar may have shown them different ones. */
export const restatedMax = 3;
/** How often others move a member to a round of a conversation: a wish of theirs never costs more than one answer in this. */
export const followMs = 1_000;
/** Step between members who could spread the same completed certificate. */
export const spreadStepMs = 250;
/** How long an author lets another go next after certifying its own post over the other's losing proposal. */
export const yieldMs = 1_000;
/** Catch-up requests while behind, doubling to the maximum. */
export const catchUpMsMin = 3_000;
export const catchUpMsMax = 60_000;
/** An intent ends after this: `outcome-unknown` where nobody has seen it, else its author asks for its withdrawal. */
export const intentLifetimeMs = 604_800_000;
/** How long the members get to settle a withdrawal by expiry before the author reports `outcome-unknown`. */
export const withdrawalMs = 86_400_000;
/**
 * Void records of one author that are remembered above the head, and kept from coming back by that. An author with so many is
 * not heard until something is certified or the round changes, which ends them: nobody else's posts wait for that.
 */
export const voidsPerAuthorMax = 32;

/** `send_message` waits this long for certification before it answers `pending`. */
export const sendWaitMs = 20_000;
/** Registry calls made for a tool, signing included. */
export const registryDeadlineMs = 30_000;
