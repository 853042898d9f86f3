// Just enough edwards25519 arithmetic to craft signatures that no honest signer makes. Slow, affine, and for nothing else:
// verification never runs on it.

import { hash } from "node:crypto";

export const p = 2n ** 255n - 19n;
export const order = 2n ** 252n + 27742317777372353535851937790883648493n;
const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
const sqrtOfMinusOne = 19681161376707505956807079304988542015446066515923890162744021073123829784752n;

export interface Point {
  readonly x: bigint;
  readonly y: bigint;
}

export const identity: Point = { x: 0n, y: 1n };

const mod = (value: bigint): bigint => ((value % p) + p) % p;

const power = (base: bigint, exponent: bigint): bigint => {
  let result = 1n;
  for (let square = mod(base), rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
};

const inverse = (value: bigint): bigint => power(value, p - 2n);

export const add = (left: Point, right: Point): Point => {
  const product = mod(d * left.x * right.x * left.y * right.y);
  return {
    x: mod((left.x * right.y + right.x * left.y) * inverse(1n + product)),
    y: mod((left.y * right.y + left.x * right.x) * inverse(1n - product)),
  };
};

export const multiply = (scalar: bigint, point: Point): Point => {
  let result = identity;
  for (let double = point, rest = scalar; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = add(result, double);
    double = add(double, double);
  }
  return result;
};

export const scalarBytes = (scalar: bigint): Buffer =>
  Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse();

export const scalarOf = (bytes: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);

export const encode = ({ x, y }: Point): Buffer => scalarBytes(y | ((x & 1n) << 255n));

/** The point of a canonical encoding; throws when there is none. */
export const decode = (bytes: Uint8Array): Point => {
  const packed = scalarOf(bytes);
  const y = packed & ((1n << 255n) - 1n);
  const ratio = mod((y * y - 1n) * inverse(d * y * y + 1n));
  let x = power(ratio, (p + 3n) / 8n);
  if (mod(x * x) !== ratio) x = mod(x * sqrtOfMinusOne);
  if (mod(x * x) !== ratio) throw new RangeError("not a point of the curve");
  return { x: (x & 1n) === packed >> 255n ? x : mod(-x), y };
};

export const base: Point = decode(Buffer.from(`58${"66".repeat(31)}`, "hex"));

/** A point of order 8: adding it to an honest point gives one of mixed order. */
export const torsion: Point = decode(
  Buffer.from("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "hex"),
);

/** The challenge of RFC 8032: SHA-512 over R, A and the message, modulo the group order. */
export const challenge = (r: Uint8Array, a: Uint8Array, message: Uint8Array): bigint =>
  scalarOf(hash("sha512", Buffer.concat([r, a, message]), "buffer")) % order;
