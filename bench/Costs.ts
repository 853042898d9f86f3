// What the unavoidable steps of a post cost on this machine, with nothing of the product around them: one durable SQLite
// commit, one Ed25519 signature and verification, one AES-256-GCM pass. Measured wherever and whenever a bench asks.

import { createCipheriv, createSecretKey, generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { cpuMsSince, wallMsOf } from "./Statistics.ts";

/** What must be done before one commit, and the commit. */
export interface Step {
  readonly verifies: number;
  readonly signs: number;
  /** Passes of AES-GCM: sealing and opening are one each and cost the same. */
  readonly seals: number;
}

export interface CostMeter {
  /** Milliseconds that the steps take, done now, once and in their order. */
  readonly run: (steps: ReadonlyArray<Step>) => number;
  /** Milliseconds of one commit, the mean of a few in a row. */
  readonly commit: () => number;
  readonly close: () => void;
}

/** About the signed bytes of one direct post's envelope, and what a turn writes for it. */
const messageBytes = 2_048;
const commitsInRow = 16;

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

const repeat = (count: number, work: () => void): void => {
  for (let i = 0; i < count; i++) work();
};

/** `folder` must be on the disk of the stores that are compared. */
export const openMeter = (folder: string): CostMeter => {
  const database = new DatabaseSync(join(folder, "costs.sqlite"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
  database.exec("CREATE TABLE IF NOT EXISTS entry (entry INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT");
  const insert = database.prepare("INSERT INTO entry (bytes) VALUES (?)");
  const commitOnce = (): void => void insert.run(message);
  const runStep = ({ verifies, signs, seals }: Step): void => {
    repeat(verifies, verifyOnce);
    repeat(signs, signOnce);
    repeat(seals, sealOnce);
    commitOnce();
  };
  return {
    run: (steps) => wallMsOf(() => steps.forEach(runStep)),
    commit: () => wallMsOf(() => repeat(commitsInRow, commitOnce)) / commitsInRow,
    close: () => database.close(),
  };
};

/** Processor milliseconds of one signature and one verification, over enough of them for the processor clock. */
export const signatureCpu = (): { readonly sign: number; readonly verify: number } => {
  const count = 500;
  const of = (step: () => void): number => {
    const start = process.cpuUsage();
    repeat(count, step);
    return cpuMsSince(start) / count;
  };
  return { sign: of(signOnce), verify: of(verifyOnce) };
};
