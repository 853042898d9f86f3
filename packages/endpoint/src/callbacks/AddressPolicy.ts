// Which addresses a stranger's URL may lead to: ordinary unicast of the public internet, and nothing that the IANA
// special-purpose registries set aside. Pure functions over bytes. Implements ING-62 and ING-63.
//
// Blocks that the registries call globally reachable are refused as well: name servers, relays and translators live there,
// and a translator leads to addresses that nobody checked.

import { block, equals, isIn, type Block, type IpAddress } from "./IpAddress.ts";

/** Whether a connection may go there. */
export type AddressPolicy = (address: IpAddress) => boolean;

const specialV4: ReadonlyArray<Block> = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared with a provider
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local, where clouds keep their metadata
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // multicast tunnels
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarking
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast at its end
].map(block);

/**
 * All unicast that was ever given out. What is outside needs no line of its own: loopback, IPv4 in every disguise
 * (`::a.b.c.d`, `::ffff:a.b.c.d`, NAT64), discard-only, segment routing, unique-local, link-local, multicast.
 */
const unicastV6 = block("2000::/3");

const specialV6: ReadonlyArray<Block> = [
  "2001::/23", // protocol assignments: Teredo, benchmarking, ORCHID, multicast tunnels, drone identities
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3fff::/20", // documentation
].map(block);

export const isGloballyRoutable: AddressPolicy = (address) => {
  if (address.length === 4) return !specialV4.some((special) => isIn(special, address));
  return isIn(unicastV6, address) && !specialV6.some((special) => isIn(special, address));
};

/** The policy with exceptions, which only a daemon that was started for tests has. */
export const withExtra =
  (extra: ReadonlyArray<IpAddress>): AddressPolicy =>
  (address) =>
    isGloballyRoutable(address) || extra.some((allowed) => equals(allowed, address));
