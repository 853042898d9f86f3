// From a name to its addresses. Asks name servers directly and never the hosts file, a search domain or another service of
// this machine, so a stranger's URL cannot name what only this machine knows; and a query can be taken back.

import { Resolver as DnsResolver } from "node:dns/promises";

/** All addresses of a name, of both families; rejects when there is none, and soon after an abort. */
export type Resolver = (name: string, signal: AbortSignal) => Promise<ReadonlyArray<string>>;

/**
 * Asks the machine's name servers, or the given ones (`address:port`). A name with addresses of one family is an ordinary
 * one; only when both queries fail has the name none.
 */
export const resolverOver =
  (servers: ReadonlyArray<string> | null): Resolver =>
  async (name, signal) => {
    signal.throwIfAborted();
    // One for each name, because taking back a query takes back all of a resolver's.
    const resolver = new DnsResolver();
    if (servers !== null) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const families = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const addresses = families.flatMap((family) => (family.status === "fulfilled" ? family.value : []));
      const [first] = families;
      if (addresses.length === 0 && first.status === "rejected") throw first.reason;
      return addresses;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };

export const systemResolver: Resolver = resolverOver(null);
