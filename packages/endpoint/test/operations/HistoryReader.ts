// A made chain in a store of its own, and reads of it with continuations of their own, as an endpoint that began just now.

import { randomBytes } from "node:crypto";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import * as Chains from "@social-harness/testkit/Chains";
import * as StoredChain from "@social-harness/testkit/StoredChain";
import { createContinuations } from "../../src/operations/Continuations.ts";
import { readConversation, type Snapshot } from "../../src/operations/History.ts";
import { OperationError } from "../../src/operations/OperationError.ts";
import type { ReadConversationInput, ReadConversationResult } from "../../src/operations/Operations.ts";
import type { Database } from "../../src/store/Database.ts";
import { temporaryPath, temporaryStore } from "../store/TemporaryStore.ts";

const down = (): Promise<never> =>
  Promise.reject(new RegistryError("unavailable", "there is no Registry here"));
const noRegistry: RegistryClient = {
  register: down,
  lookupByName: down,
  lookupById: down,
  list: down,
  close: () => undefined,
};

export interface HistoryReader {
  readonly read: (input: ReadConversationInput) => Promise<ReadConversationResult>;
  /** The reason of its failure, or null. */
  readonly reason: (input: ReadConversationInput) => Promise<string | null>;
}

export const readerOf = (db: Database, clock = () => 0): HistoryReader => {
  const random = (byteCount: number): Buffer => randomBytes(byteCount);
  const continuations = createContinuations<Snapshot>(random, clock);
  const reading = {
    db,
    self: "ann" as AgentName,
    trust: Chains.trust,
    registry: noRegistry,
    continuations,
  };
  const read = (input: ReadConversationInput) => readConversation(reading, input);
  return {
    read,
    reason: (input) =>
      read(input).then(
        () => null,
        (error: unknown) => {
          if (error instanceof OperationError) return error.reason;
          throw error;
        },
      ),
  };
};

export interface Stored extends StoredChain.StoredChain, HistoryReader {
  readonly path: string;
}

/** The first `count` records of the chain, whose first member is ann, in a fresh store. */
export const store = (chain: Chains.Chain, count: number): Stored => {
  const path = temporaryPath();
  const db = temporaryStore(path);
  const stored = StoredChain.begin(db, chain);
  stored.append(count);
  return { ...stored, ...readerOf(db), path };
};

/** A chain of ann and others, in which everybody writes in turn. */
export const chainOf = (names: ReadonlyArray<string>, count: number, textOf = (i: number) => `post ${i}`) =>
  Chains.chain(
    names,
    Array.from({ length: count }, (_, i) => ({ author: names[i % names.length] as string, text: textOf(i) })),
  );
