// IP addresses as bytes, 4 or 16 of them, so that every spelling of one address is one value. Knows nothing of what an
// address is for.

import { isIPv4, isIPv6 } from "node:net";

export type IpAddress = Uint8Array;

const v4 = (text: string): IpAddress => Uint8Array.from(text.split("."), Number);

/** The 16-bit groups of one side of `::`; a dotted tail is two of them. */
const groupsOf = (text: string): ReadonlyArray<number> =>
  text === ""
    ? []
    : text.split(":").flatMap((group) => {
        if (!group.includes(".")) return [Number.parseInt(group, 16)];
        const [a = 0, b = 0, c = 0, d = 0] = v4(group);
        return [a * 256 + b, c * 256 + d];
      });

const v6 = (text: string): IpAddress => {
  const [before = "", after] = text.split("::");
  const head = groupsOf(before);
  const tail = after === undefined ? [] : groupsOf(after);
  const zeros = new Array<number>(8 - head.length - tail.length).fill(0);
  return Uint8Array.from([...head, ...zeros, ...tail].flatMap((group) => [group >> 8, group & 0xff]));
};

/** The bytes of an address in dotted or colon form, or null for any other text. One with a zone means a link, so it is none. */
export const parse = (text: string): IpAddress | null => {
  if (isIPv4(text)) return v4(text);
  return isIPv6(text) && !text.includes("%") ? v6(text) : null;
};

export const equals = (left: IpAddress, right: IpAddress): boolean => Buffer.compare(left, right) === 0;

/** A block of addresses that begin with the same bits. */
export interface Block {
  readonly prefix: IpAddress;
  readonly bits: number;
}

/** From `10.0.0.0/8`. For tables in source: throws a `RangeError` for a text that is no block. */
export const block = (text: string): Block => {
  const [address = "", length = ""] = text.split("/");
  const prefix = parse(address);
  const bits = Number(length);
  if (prefix === null || !/^\d+$/.test(length) || bits > prefix.length * 8)
    throw new RangeError("this is not a block of addresses");
  return { prefix, bits };
};

export const isIn = ({ prefix, bits }: Block, address: IpAddress): boolean => {
  if (prefix.length !== address.length) return false;
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (prefix[i] !== address[i]) return false;
  const rest = bits & 7;
  // The bits of the one byte that the block's edge goes through.
  return rest === 0 || ((prefix[whole] ?? 0) ^ (address[whole] ?? 0)) >> (8 - rest) === 0;
};
