// Each block of the two IANA special-purpose registries at its edges, written down apart from the table in the source.

import * as fc from "fast-check";
import { BlockList } from "node:net";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { isGloballyRoutable, withExtra } from "../../src/callbacks/AddressPolicy.ts";
import * as IpAddress from "../../src/callbacks/IpAddress.ts";

const routable = (text: string): boolean => {
  const address = IpAddress.parse(text);
  if (address === null) throw new Error(`${text} is no address`);
  return isGloballyRoutable(address);
};

/** A refused block: the address before it, its first, its last, the one after. Null where its neighbour is refused as well. */
const edges: ReadonlyArray<readonly [string | null, string, string, string | null]> = [
  [null, "0.0.0.0", "0.255.255.255", "1.0.0.0"],
  ["9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"],
  ["100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"],
  ["126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"],
  ["169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"],
  ["172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"],
  ["191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"],
  ["192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"],
  ["192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0"],
  ["192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0"],
  ["192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"],
  ["192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"],
  ["192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0"],
  ["198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"],
  ["198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"],
  ["203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"],
  ["223.255.255.255", "224.0.0.0", "239.255.255.255", null],
  [null, "240.0.0.0", "255.255.255.255", null],
  [null, "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"],
  [null, "::ffff:0:0", "::ffff:ffff:ffff", null],
  [null, "64:ff9b::", "64:ff9b::ffff:ffff", null],
  [null, "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", null],
  [null, "100::", "100::ffff:ffff:ffff:ffff", null],
  [null, "100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", null],
  ["2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", null],
  [null, "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
  [null, "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", null],
  [null, "2001:10::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", null],
  [null, "2001:30::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
  [
    "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db8::",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db9::",
  ],
  ["2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"],
  [
    "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
    "2620:4f:8000::",
    "2620:4f:8000:ffff:ffff:ffff:ffff:ffff",
    "2620:4f:8001::",
  ],
  [
    "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff::",
    "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff:1000::",
  ],
  ["3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  [null, "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  [null, "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  [null, "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  [null, "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  [null, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
];

for (const [before, first, last, after] of edges) {
  verifies(
    ["ING-62", "ING-63"],
    `${first} to ${last} is refused, and its neighbours only where they must be`,
    () => {
      expect([routable(first), routable(last)]).toEqual([false, false]);
      for (const neighbour of [before, after]) if (neighbour !== null) expect(routable(neighbour)).toBe(true);
    },
  );
}

const anyV4 = fc.uint8Array({ minLength: 4, maxLength: 4 });
const anyV6 = fc.uint8Array({ minLength: 16, maxLength: 16 });

verifies("ING-63", "no IPv6 address that holds an IPv4 one is routable, whichever it is", () => {
  const disguises: ReadonlyArray<(v4: Uint8Array) => Uint8Array> = [
    (v4) => Uint8Array.from([...new Uint8Array(12), ...v4]),
    (v4) => Uint8Array.from([...new Uint8Array(10), 0xff, 0xff, ...v4]),
    (v4) => Uint8Array.from([...new Uint8Array(8), 0xff, 0xff, 0, 0, ...v4]),
    (v4) => Uint8Array.from([0, 0x64, 0xff, 0x9b, ...new Uint8Array(8), ...v4]),
    (v4) => Uint8Array.from([0, 0x64, 0xff, 0x9b, 0, 1, ...new Uint8Array(6), ...v4]),
    (v4) => Uint8Array.from([0x20, 0x02, ...v4, ...new Uint8Array(10)]),
    (v4) => Uint8Array.from([0x20, 0x01, 0, 0, ...new Uint8Array(8), ...v4.map((byte) => byte ^ 0xff)]),
  ];
  fc.assert(
    fc.property(anyV4, fc.constantFrom(...disguises), (v4, disguise) => !isGloballyRoutable(disguise(v4))),
  );
});

verifies("ING-62", "the policy agrees with the platform's block list on any address", () => {
  // One list a family: in a common one the platform takes every IPv4 address for its mapped form.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const [, first, last] of edges) {
    const family = first.includes(":") ? "ipv6" : "ipv4";
    lists[family].addRange(first, last, family);
  }
  const spelled = (bytes: Uint8Array): string =>
    bytes.length === 4
      ? bytes.join(".")
      : (Buffer.from(bytes).toString("hex").match(/.{4}/g) ?? []).join(":");
  const agrees = (bytes: Uint8Array): boolean => {
    const family = bytes.length === 4 ? "ipv4" : "ipv6";
    return isGloballyRoutable(bytes) === !lists[family].check(spelled(bytes), family);
  };
  fc.assert(fc.property(anyV4, agrees), { numRuns: 2_000 });
  fc.assert(fc.property(anyV6, agrees), { numRuns: 500 });
  // Where the blocks are close together.
  const near = anyV6.map(([, second = 0, ...rest]) => Uint8Array.from([0x20, second & 3, ...rest]));
  fc.assert(fc.property(near, agrees), { numRuns: 2_000 });
});

verifies("ING-62", "an address has one value in all its spellings, and a zone makes it none", () => {
  const same = ["2001:db8::1", "2001:0db8:0:0:0:0:0:1", "2001:DB8::0:1", "2001:db8::0.0.0.1"];
  expect(new Set(same.map((text) => String(IpAddress.parse(text)))).size).toBe(1);
  expect(IpAddress.parse("::")).toEqual(new Uint8Array(16));
  expect(IpAddress.parse("1::")).toEqual(Uint8Array.from([0, 1, ...new Uint8Array(14)]));
  expect(IpAddress.parse("::ffff:127.0.0.1")?.slice(10)).toEqual(Uint8Array.from([255, 255, 127, 0, 0, 1]));
  for (const text of ["", "localhost", "127.1", "0x7f000001", "127.0.0.1.", "fe80::1%lo", "[::1]", ":::1"]) {
    expect(IpAddress.parse(text)).toBeNull();
  }
});

verifies("ING-62", "a block is written with its length", () => {
  for (const text of ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "2001:db8::/129", "ten/8", "10.0.0.0/-1"]) {
    expect(() => IpAddress.block(text)).toThrow(RangeError);
  }
});

verifies("ING-79", "an exception is for exactly one address", () => {
  const allows = withExtra([Uint8Array.from([127, 0, 0, 1])]);
  expect(allows(Uint8Array.from([127, 0, 0, 1]))).toBe(true);
  expect(allows(Uint8Array.from([127, 0, 0, 2]))).toBe(false);
  expect(allows(Uint8Array.from([...new Uint8Array(10), 255, 255, 127, 0, 0, 1]))).toBe(false);
  expect(allows(Uint8Array.from([8, 8, 8, 8]))).toBe(true);
});
