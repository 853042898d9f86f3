// What the MCP endpoint holds at most, each with the reason for its number. Implements MGT-144 to MGT-147.

/** Hosts on one machine, each with a few connections: what every caller may have together. */
export const connectionsMax = 256;

/**
 * Beyond `connectionsMax` a connection is still accepted, to be told why it is not served; with a good token it is served all
 * the same, so that strangers cannot shut the owner out. Beyond this one the system's own refusal has to do.
 */
export const connectionsAcceptedMax = 1_024;

/** One a host and a few for the doubt; a listener is a connection that stays. */
export const catalogListenersMax = 64;

/** For a request to arrive whole. A host on this machine writes it at once; nobody holds a connection with less. */
export const requestMsMax = 10_000;
