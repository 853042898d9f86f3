// Bounds of ingress that are the endpoint's own; those that a host can see are the protocol's.

/** Requests of one transaction of recovery: 10,000 of them cost some forty fsyncs, and memory knows no more than these. */
export const recoveryRequestsMax = 256;
