// What the MCP endpoint holds at most, each with the reason for its number. Implements MGT-75, MGT-144 to MGT-147 and MGT-186 to MGT-192.

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

/** That wait on one connection for the answers before them. A host sends one when it has the last one's answer. */
export const requestsWaitingMax = 32;

/** For a reader that takes nothing: two heartbeats of a client's patience, and two more for the doubt. */
export const readerPatienceMs = 60_000;

/** Of one tool's large answers, at a time: one is made while the thread pool verifies the other. */
export const largeAnswersMadeMax = 2;

/** For each kind of caller: made and not yet taken, each some megabytes of memory. Two slow readers hold up nobody. */
export const largeAnswersHeldMax = 8;

/** Longer than a page takes on a busy machine: what takes longer waits for the Registry, and holds up nobody meanwhile. */
export const largeAnswerMsMax = 5_000;

/** What open calls get to end by themselves in a clean stop, and then their last frames to leave. */
export const stopGraceMs = 1_000;
