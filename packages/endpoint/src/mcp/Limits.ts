// What the MCP endpoint holds at most, each with the reason for its number. Implements MGT-75 and MGT-144 to MGT-147.

/** For each kind of caller: hosts on one machine, each with a few streams. */
export const connectionsMax = 256;

/**
 * Connections on which no caller has spoken yet: many times more than come between an accept and the first read, so that nobody
 * is cut off before he was heard.
 */
export const strangersMax = 640;

/** Connections that wait to be accepted, one after another. Where that queue is full, the next one waits for seconds. */
export const connectionsQueuedMax = 4_096;

/** For each kind of caller. One a host and a few for the doubt; a listener is a connection that stays. */
export const catalogListenersMax = 64;

/** For a request to arrive whole. A host on this machine writes it at once; nobody holds a connection with less. */
export const requestMsMax = 10_000;
