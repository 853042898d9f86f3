// What the log says of the firewall that also concerns whoever looks on while the daemon runs, though it is no trouble.

/** With `hold`, its id, `reason`, the `rule` by its number, and where a check failed an `explanation`. */
export const held = "a message is held by the firewall";
export const inForce = "the firewall's rules are in force";
export const gone = "there is no firewall any more: what is queued is let through";
