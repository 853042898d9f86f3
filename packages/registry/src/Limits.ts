// Every bound of the Registry and its client, each with the reason for its number. Units stand last in names.

/** A registration with a 32-character name comes to under 700 bytes, the other requests to less. */
export const requestBytesMax = 1_024;
/** Every request is one flat object. */
export const requestDepthMax = 1;

/** An answer with one card: `agentCardBytesMax` and the fields around it. */
export const cardAnswerBytesMax = 1_280;
/** A page: 100 cards and the fields around them. */
export const pageAnswerBytesMax = 131_072;
/** answer, array of cards, card. */
export const answerDepthMax = 3;

/** An invite holds two URLs and 140 characters of keys; this still fits one line of a chat message. */
export const inviteCharactersMax = 2_048;
export const urlCharactersMax = 512;
/** How many agents one counted credential may admit. */
export const inviteUsesMax = 1_000_000;
/** One entry of the log: a card, a hash and the ids around them. */
export const entryBytesMax = 2_048;
export const entryDepthMax = 2;
/** The file of the network's two seeds. */
export const networkKeysBytesMax = 512;

/** All request headers together; a bearer credential and the version need under 200 bytes. */
export const headerBytesMax = 8_192;
/** Sockets at once; further ones are closed at accept, before they cost anything else. */
export const connectionsMax = 4_096;
/**
 * Those of them on which no request is being answered. Beyond these the one that has been silent longest is ended: a client
 * whose connection that was takes a new one. Few enough that they and the Router's leave room among 1,024 descriptors.
 */
export const connectionsRestingMax = 256;

/** Verified cards that a client keeps, the least recently used dropped first: about 10 MB. */
export const cachedCardsMax = 10_000;
/** Sockets of one client to its Registry. */
export const clientSocketsMax = 16;
/** A call without a deadline of its own ends after this. */
export const callMs = 30_000;
