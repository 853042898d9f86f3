// The export format: what a reader accepts is exactly what a writer wrote.

import { describe, expect } from "vitest";
import * as fc from "fast-check";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Chains from "@social-harness/testkit/Chains";
import * as Address from "@social-harness/protocol/address/Address";
import { hash } from "@social-harness/protocol/encoding/Hash";
import * as Export from "@social-harness/protocol/history/Export";
import * as Limits from "@social-harness/protocol/Limits";
import { Opaque32 } from "@social-harness/protocol/identity/Identifier";

const ada = Chains.actor("ada-agent");
const subjectOf = (address: string) => ({
  address: address as Address.MessageAddress,
  exportedBy: ada.card.agentId,
  registryKey: Chains.registry.publicKey,
});

const direct = Chains.chain(
  ["ada-agent", "bob-agent"],
  [
    { author: "ada-agent", text: "Monday?" },
    { author: "bob-agent", text: "Tuesday — ‏שלום‏ 🎈\u0000" },
    { author: "ada-agent", text: "Booked." },
  ],
);
const group = Chains.chain(
  ["ada-agent", "bob-agent", "cyd-agent", "dan-agent"],
  [
    { author: "cyd-agent", text: "Who comes?" },
    { author: "dan-agent", text: "I do." },
  ],
);
const directFile = [...Export.write(ada.signer, subjectOf("agent:bob-agent"), direct.records)].join("");

const readAll = (file: Uint8Array | string, trust = Chains.trust, chunkBytes = 1_000) => {
  const reader = Export.createReader(trust);
  const bytes = Buffer.from(file);
  const posts: Array<Export.VerifiedPost> = [];
  for (let from = 0; from < bytes.length; from += chunkBytes) {
    posts.push(...reader.write(bytes.subarray(from, from + chunkBytes)));
  }
  return { posts, verified: reader.finish() };
};

const refusal = (file: Uint8Array | string, trust = Chains.trust): Export.ExportError => {
  try {
    readAll(file, trust);
  } catch (error) {
    if (error instanceof Export.ExportError) return error;
    throw error;
  }
  throw new Error("the reader accepted it");
};

describe("an export", () => {
  verifies("RUN-40", "has a header, one canonical line a record and a signed end", () => {
    const lines = directFile.split("\n");
    expect(lines.pop()).toBe("");
    expect(lines).toHaveLength(5);
    expect(JSON.parse(lines[0] as string)).toEqual({
      kind: "export",
      version: 1,
      address: "agent:bob-agent",
      exportedBy: ada.card.agentId,
      registryKey: Chains.registry.publicKey,
      records: 3,
      headRecordHash: direct.records[2]?.recordHash,
    });
    expect(lines.slice(1, 4).map((line) => JSON.parse(line) as unknown)).toEqual(direct.records);
    const { signature, ...unsigned } = JSON.parse(lines[4] as string) as Export.End;
    expect(unsigned).toEqual({
      kind: "end",
      recordHash: direct.records[2]?.recordHash,
      linesHash: Opaque32.fromBytes(hash("export-lines", lines.slice(0, 4))),
    });
    expect(Chains.trust.verifier.verify(ada.signer.publicKey, "export-end", unsigned, signature)).toBe(true);
  });

  verifies("RUN-41", "reads back as who said what in what order and who signed", () => {
    const { posts, verified } = readAll(directFile);
    expect(posts.map((post) => [post.height, post.author.agentName, post.content])).toEqual([
      [0, "ada-agent", [{ type: "text", text: "Monday?" }]],
      [1, "bob-agent", [{ type: "text", text: "Tuesday — ‏שלום‏ 🎈\u0000" }]],
      [2, "ada-agent", [{ type: "text", text: "Booked." }]],
    ]);
    expect(posts[0]?.actionSigners.map((card) => card.agentName).sort()).toEqual(["ada-agent", "bob-agent"]);
    expect(verified.exporter).toEqual(ada.card);
    expect(verified.members.map((card) => card.agentName).sort()).toEqual(["ada-agent", "bob-agent"]);
  });

  verifies("RUN-41", "reads the same wherever its bytes are cut", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: directFile.length }), (chunkBytes) => {
        expect(readAll(directFile, Chains.trust, chunkBytes).posts).toHaveLength(3);
      }),
      { numRuns: 20 },
    );
  });

  verifies("RUN-41", "of a group reads back under its full address", () => {
    const address = Address.ofGroup(group.actors.map(({ name }) => name));
    const file = [...Export.write(ada.signer, subjectOf(address), group.records)].join("");
    expect(readAll(file).posts).toHaveLength(2);
  });
});

describe("what is no export", () => {
  verifies("RUN-42", "any flipped bit is refused with the number of its line", () => {
    const bytes = Buffer.from(directFile);
    const lineAt = (offset: number): number =>
      bytes.subarray(0, offset).filter((byte) => byte === 10).length + 1;
    fc.assert(
      fc.property(fc.nat({ max: bytes.length - 1 }), fc.nat({ max: 7 }), (offset, bit) => {
        const changed = Buffer.from(bytes);
        changed[offset] = (changed[offset] as number) ^ (1 << bit);
        const { line } = refusal(changed);
        // A changed header or record may only show where the reader compares it with a later line.
        expect(line).toBeGreaterThanOrEqual(lineAt(offset));
        expect(line).toBeLessThanOrEqual(6);
      }),
      { numRuns: 400 },
    );
  });

  verifies("RUN-42", "a missing, repeated, moved or added line is refused", () => {
    const lines = directFile.split("\n").slice(0, -1);
    const file = (edit: (copy: Array<string>) => void): string => {
      const copy = [...lines];
      edit(copy);
      return copy.map((line) => `${line}\n`).join("");
    };
    for (let at = 0; at < lines.length; at++) {
      expect(() => readAll(file((copy) => copy.splice(at, 1)))).toThrow(Export.ExportError);
      expect(() => readAll(file((copy) => copy.splice(at, 0, copy[at] as string)))).toThrow(
        Export.ExportError,
      );
    }
    expect(() => readAll(file((copy) => copy.splice(1, 2, copy[2] as string, copy[1] as string)))).toThrow(
      Export.ExportError,
    );
    expect(refusal(file((copy) => copy.push(""))).reason).toBe("trailing");
    expect(refusal(file((copy) => copy.splice(3))).reason).toBe("truncated");
    expect(refusal(directFile.slice(0, -1))).toMatchObject({ reason: "truncated", line: 5 });
    expect(refusal(directFile + " ")).toMatchObject({ reason: "trailing", line: 6 });
    expect(refusal("").message).toBe("line 1: the file is empty");
  });

  verifies("RUN-42", "another Registry key is refused, whatever the file says (C69)", () => {
    const other = { ...Chains.trust, registryKey: Chains.actor("mallory-agent").signer.publicKey };
    expect(refusal(directFile, other)).toMatchObject({ reason: "registry-key", line: 1 });
    const claimed = directFile.replace(Chains.registry.publicKey, other.registryKey);
    expect(refusal(claimed, other)).toMatchObject({ reason: "record", line: 2 });
  });

  verifies("RUN-42", "a signature by anybody but the named exporter is refused", () => {
    const bob = Chains.actor("bob-agent");
    const mallory = Chains.actor("mallory-agent");
    const signedBy = (
      signer: Chains.Actor["signer"],
      exportedBy = ada.card.agentId,
      address = "agent:bob-agent",
    ) => [...Export.write(signer, { ...subjectOf(address), exportedBy }, direct.records)].join("");
    expect(refusal(signedBy(bob.signer))).toMatchObject({ reason: "end", line: 5 });
    expect(refusal(signedBy(mallory.signer, mallory.card.agentId))).toMatchObject({
      reason: "header",
      line: 2,
    });
    expect(refusal(signedBy(ada.signer, ada.card.agentId, "agent:cyd-agent"))).toMatchObject({
      reason: "header",
    });
    expect(() => readAll(signedBy(bob.signer, bob.card.agentId, "agent:ada-agent"))).not.toThrow();
  });

  verifies("RUN-42", "a line past its limit is refused unread", () => {
    const long = Buffer.alloc(Limits.exportLineBytesMax + 1, 32);
    expect(refusal(long).message).toContain("at most");
  });
});
