// Where one connection goes, decided anew for each: the host's addresses as they are at this moment, every one of them
// checked. A name that leads to a public and to a private address is refused as a whole. Implements ING-64 and ING-65.

import type { AddressPolicy } from "./AddressPolicy.ts";
import { CallbackFailure } from "./CallbackFailure.ts";
import type { Target } from "./CallbackUrl.ts";
import * as IpAddress from "./IpAddress.ts";
import type { Resolver } from "./Resolver.ts";

export interface Destination {
  /** The host as the URL names it; a certificate has to be for this one. */
  readonly hostname: string;
  readonly port: number;
  readonly isLiteral: boolean;
  /** All checked, in the resolver's order, at least one. */
  readonly addresses: ReadonlyArray<string>;
}

const addressesOf = async (
  hostname: string,
  resolver: Resolver,
  signal: AbortSignal,
): Promise<ReadonlyArray<string>> => {
  try {
    return await resolver(hostname, signal);
  } catch (cause) {
    throw new CallbackFailure("dns-failed", { cause });
  }
};

/** Rejects with `CallbackFailure`: `dns-failed` or `address-refused`. */
export const resolve = async (
  { hostname, port }: Target,
  resolver: Resolver,
  allows: AddressPolicy,
  signal: AbortSignal,
): Promise<Destination> => {
  const isLiteral = IpAddress.parse(hostname) !== null;
  const addresses = isLiteral ? [hostname] : await addressesOf(hostname, resolver, signal);
  if (addresses.length === 0) throw new CallbackFailure("dns-failed");
  const areAllowed = addresses.every((text) => {
    const address = IpAddress.parse(text);
    return address !== null && allows(address);
  });
  if (!areAllowed) throw new CallbackFailure("address-refused");
  return { hostname, port, isLiteral, addresses };
};
