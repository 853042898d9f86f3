// How often one source, and one credential, may ask. Counters live in this process's memory, in a fixed number of
// buckets, so that no number of addresses makes them grow.

import { hash } from "node:crypto";
import { isIPv6 } from "node:net";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import type { Random } from "../Admission.ts";

const windowSeconds = 60;
/** Salted, so nobody can choose to share a bucket with somebody else. */
const bucketCount = 65_536;

export interface RateLimits {
  /** Seconds to wait, or null when the request may go on. */
  readonly read: (source: string) => Promise<number | null>;
  readonly registration: (source: string) => Promise<number | null>;
  readonly credential: (credential: string) => Promise<number | null>;
}

/** Requests a minute. */
export interface Rates {
  readonly readsPerSource: number;
  readonly registrationsPerSource: number;
  readonly registrationsPerCredential: number;
}

/** 32 endpoints behind one address open a group of 32 (about 1,000 look-ups) without waiting. */
export const defaultRates: Rates = {
  readsPerSource: 6_000,
  registrationsPerSource: 600,
  registrationsPerCredential: 300,
};

/** What counts as one source: an IPv4 address, or the /64 that one IPv6 customer has to itself. */
export const sourceOf = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [plain = ""] = address.split("%");
  if (!isIPv6(plain)) return plain;
  const [head = "", tail] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  return [...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
};

export const makeRateLimits = (rates: Rates, random: Random): RateLimits => {
  const salt = Buffer.from(random(16)).toString("hex");
  const limit = (points: number) => {
    const limiter = new RateLimiterMemory({ points, duration: windowSeconds });
    return async (key: string): Promise<number | null> => {
      const bucket = hash("sha256", `${salt} ${key}`, "buffer").readUInt32BE() % bucketCount;
      try {
        await limiter.consume(bucket);
        return null;
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused;
        return Math.max(1, Math.ceil(refused.msBeforeNext / 1_000));
      }
    };
  };
  return {
    read: limit(rates.readsPerSource),
    registration: limit(rates.registrationsPerSource),
    credential: limit(rates.registrationsPerCredential),
  };
};
