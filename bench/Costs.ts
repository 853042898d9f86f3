// What the unavoidable steps of a post cost on this machine, with nothing of the product around them: one durable SQLite
// commit, one Ed25519 signature and verification, one AES-256-GCM pass. Measured wherever and whenever a bench asks.

import { createCipheriv, createSecretKey, generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { cpuMsSince, wallMsOf } from "./Statistics.ts";

/** Milliseconds each. */
export interface Costs {
  readonly commit: number;
  readonly sign: number;
  readonly verify: number;
  /** Sealing and opening are one pass each and cost the same. */
  readonly seal: number;
}

export interface CostMeter {
  /** Each step a few times, now; wall clock. */
  readonly measure: () => Costs;
  readonly close: () => void;
}

/** About the signed bytes of one direct post's envelope, and what a turn writes for it. */
const messageBytes = 2_048;
const repeats = 4;

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const message = randomBytes(messageBytes);
const signature = sign(null, message, privateKey);
const secret = createSecretKey(randomBytes(32));

const signOnce = (): void => void sign(null, message, privateKey);
const verifyOnce = (): void => void verify(null, message, publicKey, signature);
const sealOnce = (): void => {
  const cipher = createCipheriv("aes-256-gcm", secret, randomBytes(12));
  cipher.update(message);
  cipher.final();
  cipher.getAuthTag();
};

const each = (step: () => void): number =>
  wallMsOf(() => {
    for (let i = 0; i < repeats; i++) step();
  }) / repeats;

/** `folder` must be on the disk of the stores that are compared. */
export const openMeter = (folder: string): CostMeter => {
  const database = new DatabaseSync(join(folder, "costs.sqlite"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
  database.exec("CREATE TABLE IF NOT EXISTS entry (entry INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT");
  const insert = database.prepare("INSERT INTO entry (bytes) VALUES (?)");
  return {
    measure: () => ({
      commit: each(() => void insert.run(message)),
      sign: each(signOnce),
      verify: each(verifyOnce),
      seal: each(sealOnce),
    }),
    close: () => database.close(),
  };
};

/** Processor milliseconds of one signature and one verification, over enough of them for the processor clock. */
export const signatureCpu = (): { readonly sign: number; readonly verify: number } => {
  const count = 500;
  const of = (step: () => void): number => {
    const start = process.cpuUsage();
    for (let i = 0; i < count; i++) step();
    return cpuMsSince(start) / count;
  };
  return { sign: of(signOnce), verify: of(verifyOnce) };
};
