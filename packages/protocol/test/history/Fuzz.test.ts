// Every decoder of history and conversation against mutated bytes: the typed error or a value that re-encodes to the input.

import * as fc from "fast-check";
import { expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Packet from "@social-harness/protocol/conversation/Packet";
import * as Evidence from "@social-harness/protocol/history/Evidence";
import * as Export from "@social-harness/protocol/history/Export";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { verifies } from "@social-harness/testkit/Verifies";
import * as VectorFiles from "../encoding/VectorFiles.ts";

const bounds = { bytesMax: Limits.packetBytesMax, depthMax: Limits.jsonDepthMax };

interface Mutation {
  readonly at: number;
  readonly byte: number;
  readonly kind: "set" | "flip" | "insert" | "delete" | "cut" | "repeat";
}

const mutations = fc.array(
  fc.record({
    at: fc.nat(),
    byte: fc.integer({ min: 0, max: 255 }),
    kind: fc.constantFrom<Mutation["kind"]>("set", "flip", "insert", "delete", "cut", "repeat"),
  }),
  { minLength: 1, maxLength: 3 },
);

const mutated = (bytes: Uint8Array, edits: ReadonlyArray<Mutation>): Uint8Array =>
  edits.reduce<Uint8Array>((current, { at, byte, kind }) => {
    const i = at % (current.byteLength + 1);
    const before = current.subarray(0, i);
    const here = current.subarray(i, i + 1);
    const after = current.subarray(i + 1);
    switch (kind) {
      case "set":
        return Buffer.concat([before, Buffer.from([byte]), after]);
      case "flip":
        return Buffer.concat([before, here.map((old) => old ^ (1 << (byte & 7))), after]);
      case "insert":
        return Buffer.concat([before, Buffer.from([byte]), here, after]);
      case "delete":
        return Buffer.concat([before, after]);
      case "cut":
        return before;
      case "repeat":
        return Buffer.concat([before, current.subarray(Math.max(0, i - byte), i), here, after]);
    }
  }, bytes);

const packets = VectorFiles.json<{ readonly accepted: ReadonlyArray<Json> }>("packets.json").accepted;
interface Chains {
  readonly registryKey: SigningKey;
  readonly chains: ReadonlyArray<{ readonly records: ReadonlyArray<Json> }>;
}
const { chains, registryKey } = VectorFiles.json<Chains>("records.json");
const inRounds = VectorFiles.json<Chains>("rounds.json").chains;
const records = [...chains.slice(0, 3), ...inRounds.slice(0, 3)].flatMap((chain) => chain.records);

const decoders: ReadonlyArray<readonly [string, ReadonlyArray<Json>, (value: Json) => unknown]> = [
  ["packet", packets, Packet.decode],
  ["record", records, Closed.decoder(Evidence.HistoryRecord)],
];

for (const [name, values, decode] of decoders) {
  verifies(
    ["HIS-12", "FND-04", "FND-01"],
    `a mutated ${name} is refused with the typed error or is canonical`,
    () => {
      fc.assert(
        fc.property(fc.constantFrom(...values), mutations, (value, edits) => {
          const bytes = mutated(CanonicalJson.encodeBytes(value), edits);
          try {
            const decoded = decode(CanonicalJson.decodeBytes(bytes, bounds));
            expect(CanonicalJson.encodeBytes(decoded as Json).equals(bytes)).toBe(true);
          } catch (error) {
            expect(error).toBeInstanceOf(DecodeError);
          }
        }),
        { numRuns: 2_000 },
      );
    },
  );

  verifies(
    ["HIS-12", "FND-04"],
    `any JSON in any place of a ${name} is refused with the typed error or kept as it is`,
    () => {
      const replaced = (value: Json, path: ReadonlyArray<number>, by: Json): Json => {
        const [step, ...rest] = path;
        if (step === undefined || typeof value !== "object" || value === null) return by;
        const keys = Object.keys(value);
        const key = keys[step % (keys.length || 1)];
        if (key === undefined) return by;
        const copy = structuredClone(value) as { [name: string]: Json };
        copy[key] = replaced(copy[key] as Json, rest, by);
        return copy;
      };
      const anyJson = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
      fc.assert(
        fc.property(
          fc.constantFrom(...values),
          fc.array(fc.nat(), { maxLength: 6 }),
          anyJson,
          (value, path, by) => {
            const changed = replaced(value, path, by);
            try {
              expect(CanonicalJson.encode(decode(changed) as Json)).toBe(CanonicalJson.encode(changed));
            } catch (error) {
              expect(error).toBeInstanceOf(DecodeError);
            }
          },
        ),
        { numRuns: 1_000 },
      );
    },
  );
}

verifies(
  ["RUN-42", "FND-04"],
  "mutated bytes of an export are refused with its own typed error, whole or in pieces",
  () => {
    const file = Buffer.from(VectorFiles.text("export_two.jsonl"), "utf8");
    fc.assert(
      fc.property(mutations, fc.nat(), (edits, at) => {
        const bytes = mutated(file, edits);
        fc.pre(!file.equals(bytes));
        const reader = Export.createReader({ verifier: Ed25519.verifier, registryKey });
        const cut = at % (bytes.byteLength + 1);
        expect(() => {
          reader.write(bytes.subarray(0, cut));
          reader.write(bytes.subarray(cut));
          reader.finish();
        }).toThrow(Export.ExportError);
      }),
      { numRuns: 300 },
    );
  },
);
