// How fast one page of a large group's history is read: rows, hashes, laws and every signature of 32 members' evidence, beside
// the signature library alone at the same signatures over the same processors. Rounds of both alternate.

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createContinuations } from "@social-harness/endpoint/operations/Continuations";
import { readConversation, type Snapshot } from "@social-harness/endpoint/operations/History";
import * as Database from "@social-harness/endpoint/store/Database";
import * as Address from "@social-harness/protocol/address/Address";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Limits from "@social-harness/protocol/Limits";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import * as Chains from "@social-harness/testkit/Chains";
import * as StoredChain from "@social-harness/testkit/StoredChain";
import * as BareSignatures from "./BareSignatures.ts";
import type { Line, Question } from "./Line.ts";
import { median } from "./Statistics.ts";

const membersMax = Limits.membersMax;
const rounds = 15;
/** Short posts fill a page by their number; these fill it by their bytes, ten to a page. */
const longTextBytes = 200_000;

const msOf = async (work: () => Promise<unknown>): Promise<number> => {
  const started = performance.now();
  await work();
  return performance.now() - started;
};

const measured = async (folder: string, name: string, textOf: (i: number) => string): Promise<Line> => {
  const names = Array.from({ length: membersMax }, (_, i) => `member-${i + 1}`);
  const posts = Array.from({ length: Limits.historyPageRecordsMax }, (_, i) => ({
    author: names[i % membersMax] as string,
    text: textOf(i),
  }));
  const chain = Chains.chain(names, posts);
  const db = Database.open(join(folder, `${name}.sqlite`));
  StoredChain.begin(db, chain).append(posts.length);
  const reading = {
    db,
    self: names[0] as AgentName,
    trust: Chains.trust,
    registry: makeRegistryClient({ url: "http://127.0.0.1:9", registryKey: Chains.registry.publicKey }),
    continuations: createContinuations<Snapshot>((byteCount) => randomBytes(byteCount), Date.now),
  };
  const address = Address.ofGroup(names as ReadonlyArray<string> as ReadonlyArray<AgentName>);
  const { records } = await readConversation(reading, { address });
  const bare = BareSignatures.of(records, Chains.trust);
  const ours: Array<number> = [];
  const library: Array<number> = [];
  for (let round = 0; round < rounds; round++) {
    library.push(await msOf(() => BareSignatures.verifyInPool(bare)));
    ours.push(await msOf(() => readConversation(reading, { address })));
  }
  reading.registry.close();
  db.close();
  return {
    name: `a page of ${records.length} ${name} posts, ${membersMax} members`,
    measured: { value: median(ours), unit: "ms" },
    against: { value: median(library), unit: "ms", name: `its ${bare.length} signatures alone` },
    target: { atMost: 2 },
  };
};

export const historyPage: Question = {
  name: "history-page",
  asks: "How fast is one page of a large group's history read, beside its signatures alone?",
  answer: async () => {
    const folder = mkdtempSync(join(tmpdir(), "social-harness-bench-"));
    try {
      return [
        await measured(folder, "short", (i) => `Post ${i}, about as long as people write.`),
        await measured(folder, "long", (i) => `${i}`.repeat(longTextBytes).slice(0, longTextBytes)),
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
