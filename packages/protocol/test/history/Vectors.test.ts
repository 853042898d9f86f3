// This implementation against the committed vectors of history: records, rounds, statements, packets, exports.

import * as Schema from "effect/Schema";
import { expect } from "vitest";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Packet from "@social-harness/protocol/conversation/Packet";
import * as Evidence from "@social-harness/protocol/history/Evidence";
import * as Export from "@social-harness/protocol/history/Export";
import * as Membership from "@social-harness/protocol/history/Membership";
import { quorumOf } from "@social-harness/protocol/history/Quorum";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import type * as Statement from "@social-harness/protocol/history/Statement";
import type * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import * as Void from "@social-harness/protocol/history/Void";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { ActionHash, Ed25519Signature, SigningKey } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Changes from "../../../../tools/vectors/Changes.ts";
import * as VectorFiles from "../encoding/VectorFiles.ts";
import * as ChainVectors from "./ChainVectors.ts";

const records = ChainVectors.read("records.json");
const rounds = ChainVectors.read("rounds.json");

verifies(
  ["HIS-60", "HIS-01"],
  "chains of 2, 3, 4, 10 and 32 members verify with exactly their thresholds' signatures",
  () => {
    expect(records.chains.map(({ members }) => members.length)).toEqual([2, 3, 4, 10, 32]);
    for (const { name, members, head, records: chain } of records.chains) {
      expect(head.height, name).toBe(chain.length - 1);
      expect(head.members.cards.map(({ agentName }) => agentName)).toEqual(members);
      const last = chain.at(-1);
      expect(last?.actionSignatures.length).toBe(quorumOf(members.length));
      expect(last?.durabilityVotes.length).toBe(quorumOf(members.length));
    }
  },
);

verifies("HIS-01", "q(n) is the stated one for every number of members", () => {
  expect(records.quorums.map(({ n }) => n)).toEqual(Array.from({ length: 31 }, (_, i) => i + 2));
  for (const { n, quorum } of records.quorums) expect(quorumOf(n), `${n} members`).toBe(quorum);
});

verifies(
  ["HIS-112", "HIS-113", "HIS-114", "HIS-115"],
  "chains of 2, 3, 4, 7, 10 and 32 members verify through rounds, records and a GENESIS carried into them",
  () => {
    expect([...new Set(rounds.chains.map(({ members }) => members.length))]).toEqual([2, 3, 4, 7, 10, 32]);
    for (const { name, head, records: chain } of rounds.chains) {
      expect(head.height, name).toBe(chain.length - 1);
      expect(
        chain.some(
          ({ durabilityAnchor, routerAnchor }) =>
            (durabilityAnchor ?? routerAnchor).kind !== "genesis_anchor",
        ),
      ).toBe(true);
    }
    const carried = rounds.chains.filter(({ records: [genesis] }) => genesis?.durabilityAnchor !== null);
    expect(carried).toHaveLength(4);
  },
);

for (const [file, { refused, refusalOf }] of [
  ["records.json", records],
  ["rounds.json", rounds],
] as const) {
  verifies(
    ["HIS-61", "HIS-62", "HIS-11", "HIS-12"],
    `every damaged or unlawful record of ${file} is refused in its place, with the stated reason`,
    () => {
      expect(refused.length).toBeGreaterThan(200);
      for (const one of refused) {
        const title = `${one.chain} ${one.height}: ${one.name}`;
        const reason = refusalOf(one);
        expect(reason, title).not.toBe("accepted");
        if (one.reason !== undefined) expect(reason, title).toBe(one.reason);
      }
    },
  );
}

const trustIn = (registryKey: SigningKey): VerifyRecord.Trust => ({
  verifier: Ed25519.verifier,
  registryKey,
});

interface Subset<Accepted, Refused> {
  readonly registryKey: SigningKey;
  readonly memberships: { readonly [name: string]: Membership.Membership };
  readonly accepted: ReadonlyArray<Accepted & { readonly membership: string; readonly name: string }>;
  readonly refused: ReadonlyArray<
    | (Refused & { readonly name: string; readonly membership: string; readonly reason: string })
    | ({ readonly of: number } & Changes.Change)
  >;
}

const membersOf = ({
  registryKey,
  memberships,
}: Pick<Subset<unknown, unknown>, "registryKey" | "memberships">) => {
  const verified = new Map(
    Object.entries(memberships).map(([name, membership]) => [
      name,
      Membership.verify(Ed25519.verifier, registryKey, membership),
    ]),
  );
  return (name: string): Membership.Members => verified.get(name) as Membership.Members;
};

const reasonOf = (attempt: () => unknown): string => {
  try {
    attempt();
  } catch (error) {
    if (error instanceof DecodeError) return "decode";
    if (error instanceof RecordError) return error.reason;
    throw error;
  }
  return "accepted";
};

verifies(
  ["HIS-110", "HIS-111"],
  "every completed re-anchor decides what is stated beside it, and every bad one is refused",
  () => {
    const vectors =
      VectorFiles.json<Subset<Reanchor.Decision & { readonly reanchor: Json }, { readonly reanchor: Json }>>(
        "reanchors.json",
      );
    const trust = trustIn(vectors.registryKey);
    const members = membersOf(vectors);
    const decode = Closed.decoder(Evidence.CompletedReanchor);
    for (const { name, membership, base, carried, reanchor } of vectors.accepted) {
      const decision = Reanchor.verify(trust, members(membership), decode(reanchor));
      expect(decision, `${membership}: ${name}`).toEqual({ base, carried });
    }
    for (const one of vectors.refused) {
      const origin = "of" in one ? vectors.accepted[one.of] : one;
      if (origin === undefined) throw new RangeError("no such case");
      const value = "of" in one ? Changes.apply(origin.reanchor, one) : one.reanchor;
      const reason = reasonOf(() =>
        Reanchor.verify(trust, members(origin.membership), decode(value as Json)),
      );
      const title = `${origin.membership}: ${one.name}`;
      expect(reason, title).not.toBe("accepted");
      if ("reason" in one) expect(reason, title).toBe(one.reason);
    }
  },
);

verifies("HIS-116", "every set of refusals proves its action void or does not, as stated", () => {
  interface Claimed {
    readonly actionHash: ActionHash;
    readonly height: number;
    readonly refusals: ReadonlyArray<Json>;
  }
  const vectors = VectorFiles.json<
    Subset<Claimed, Claimed> & {
      readonly needed: ReadonlyArray<{ readonly n: number; readonly genesis: number; readonly post: number }>;
    }
  >("voids.json");
  for (const { n, genesis, post } of vectors.needed) {
    expect([Void.refusalsNeeded(n, 0), Void.refusalsNeeded(n, 1)], `${n} members`).toEqual([genesis, post]);
  }
  const trust = trustIn(vectors.registryKey);
  const members = membersOf(vectors);
  const decode = Closed.decoder(Schema.Array(Void.SignedRefusal));
  const verify = (membership: string, { actionHash, height }: Claimed, refusals: Json): void =>
    Void.verify(trust, members(membership), { actionHash, height }, decode(refusals));
  for (const one of vectors.accepted) {
    const title = `${one.membership}: ${one.name}`;
    expect(
      reasonOf(() => verify(one.membership, one, one.refusals as Json)),
      title,
    ).toBe("accepted");
  }
  for (const one of vectors.refused) {
    const origin = "of" in one ? vectors.accepted[one.of] : one;
    if (origin === undefined) throw new RangeError("no such case");
    const refusals = "of" in one ? Changes.apply(origin.refusals as Json, one) : origin.refusals;
    const reason = reasonOf(() => verify(origin.membership, origin, refusals as Json));
    const title = `${origin.membership}: ${one.name}`;
    expect(reason, title).not.toBe("accepted");
    if ("reason" in one) expect(reason, title).toBe(one.reason);
  }
});

verifies("HIS-10", "each kind of statement verifies under its own artifact, key and signature alone", () => {
  interface Signed {
    readonly artifact: string;
    readonly statement: Statement.Statement;
    readonly publicKey: SigningKey;
    readonly signature: Ed25519Signature;
  }
  const vectors = VectorFiles.json<{
    accepted: ReadonlyArray<Signed>;
    refused: ReadonlyArray<Signed & { name: string }>;
  }>("statements.json");
  const isGood = ({ publicKey, artifact, statement, signature }: Signed): boolean =>
    Ed25519.verifier.verify(publicKey, artifact, statement as Json, signature);
  for (const entry of vectors.accepted) {
    expect(entry.artifact).toBe(entry.statement.kind.replaceAll("_", "-"));
    expect(isGood(entry), entry.artifact).toBe(true);
  }
  for (const entry of vectors.refused)
    expect(isGood(entry), `${entry.statement.kind}: ${entry.name}`).toBe(false);
});

verifies("HIS-12", "every packet decodes to itself, and every change of its shape is refused", () => {
  const vectors = VectorFiles.json<{
    readonly accepted: ReadonlyArray<Json>;
    readonly refused: ReadonlyArray<
      { name: string; packet?: number } & Partial<Changes.Change> & { value?: Json }
    >;
  }>("packets.json");
  for (const packet of vectors.accepted) expect(Packet.decode(packet)).toEqual(packet);
  for (const { packet, ...change } of vectors.refused) {
    const base = packet === undefined ? undefined : (vectors.accepted[packet] as Json);
    const value = base === undefined ? (change.value as Json) : Changes.apply(base, change as Changes.Change);
    const kind = (base as { kind?: string } | undefined)?.kind ?? "no packet";
    expect(() => Packet.decode(value), `${kind}: ${change.name}`).toThrow(DecodeError);
  }
});

const readExport = (
  lines: ReadonlyArray<string>,
  registryKey: SigningKey,
): ReadonlyArray<Export.VerifiedPost> => {
  const reader = Export.createReader(trustIn(registryKey));
  const posts = reader.write(Buffer.from(lines.map((line) => `${line}\n`).join(""), "utf8"));
  reader.finish();
  return posts;
};

verifies(
  ["RUN-40", "RUN-41", "RUN-42"],
  "exported files verify, and every edit of one is refused for the stated reason",
  () => {
    const vectors = VectorFiles.json<{
      readonly registryKey: SigningKey;
      readonly accepted: ReadonlyArray<string>;
      readonly refused: ReadonlyArray<{
        readonly name: string;
        readonly reason: string;
        readonly file: string;
        readonly registryKey: SigningKey;
        readonly at: number;
        readonly remove: number;
        readonly insert: ReadonlyArray<string>;
      }>;
    }>("exports.json");
    for (const file of vectors.accepted) {
      const lines = VectorFiles.lines(file);
      expect(readExport(lines, vectors.registryKey).length, file).toBe(lines.length - 2);
    }
    for (const { name, reason, file, registryKey, at, remove, insert } of vectors.refused) {
      const lines = VectorFiles.lines(file).toSpliced(at, remove, ...insert);
      expect(() => readExport(lines, registryKey), name).toThrow(
        expect.objectContaining({ name: "ExportError", reason }),
      );
    }
  },
);
