// The verifier in the second language against this implementation: on the committed vectors, on the published suites, and
// on random cases whose verdicts are written here as vectors and must be found again there.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { hash, preimage } from "@social-harness/protocol/encoding/Hash";
import * as Address from "@social-harness/protocol/address/Address";
import * as Export from "@social-harness/protocol/history/Export";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import {
  AgentId,
  AnchorHash,
  RecordHash,
  type SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Conversations from "../../../../tools/vectors/Conversations.ts";
import * as Exports from "../../../../tools/vectors/Exports.ts";
import * as Family from "../../../../tools/vectors/Family.ts";
import { registry } from "../../../../tools/vectors/People.ts";
import * as Rounds from "../../../../tools/vectors/Rounds.ts";
import * as VectorFiles from "../encoding/VectorFiles.ts";

const program = join(VectorFiles.repositoryRoot, "tools", "verify.py");
const python = (...args: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync("python3", args, { encoding: "utf8" });
  return { status, stdout, stderr };
};
const verify = (...args: ReadonlyArray<string>) => python(program, ...args);

const absent = python("-c", "import sys; sys.exit(sys.version_info < (3, 11))").status !== 0;
const note = absent ? " (skipped: there is no python3 of version 3.11 or later)" : "";
const withPublished = absent || VectorFiles.publishedAbsent;

describe.skipIf(absent)(`the second verifier${note}`, () => {
  verifies(["FND-51", "HIS-66"], "agrees on every committed vector", () => {
    const { status, stdout, stderr } = verify("vectors", VectorFiles.vectorsFolder);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^\d{4,} cases, 0 disagreements\n$/);
    expect(status).toBe(0);
  });

  verifies("RUN-43", "tells from an export who said what in what order and who signed", () => {
    const file = join(VectorFiles.vectorsFolder, "export_four.jsonl");
    const { status, stdout } = verify("export", file, "--registry-key", registry.publicKey, "--json");
    expect(status).toBe(0);
    const reader = Export.createReader({ verifier: Ed25519.verifier, registryKey: registry.publicKey });
    const posts = reader.write(Buffer.from(VectorFiles.text("export_four.jsonl")));
    const { header, exporter, members } = reader.finish();
    const report = JSON.parse(stdout) as { readonly notChecked: ReadonlyArray<string> };
    expect(report.notChecked.join()).not.toContain("below four members");
    expect(report).toMatchObject({
      ok: true,
      address: header.address,
      exportedBy: exporter.agentName,
      members: members.map(({ agentName }) => agentName),
      records: posts.map(({ height, recordHash, author, content, actionSigners, durabilitySigners }) => ({
        height,
        recordHash,
        author: author.agentName,
        content,
        actionSigners: actionSigners.map(({ agentName }) => agentName),
        durabilitySigners: durabilitySigners.map(({ agentName }) => agentName),
      })),
    });
  });

  verifies(
    ["RUN-41", "RUN-43"],
    "says as `verify` does what storage rests on where fewer than four talk",
    () => {
      const file = join(VectorFiles.vectorsFolder, "export_two.jsonl");
      const { stdout } = verify("export", file, "--registry-key", registry.publicKey);
      expect(stdout).toContain("below four members storage rests on all being honest");
    },
  );

  verifies(
    "RUN-43",
    "prints a story in which no content can pass for another line or turn the text around",
    () => {
      const file = join(VectorFiles.vectorsFolder, "export_two.jsonl");
      const { status, stdout } = verify("export", file, "--registry-key", registry.publicKey);
      expect(status).toBe(0);
      expect(stdout).toContain("   0  agent-00\n      Monday at ten?\n");
      expect(stdout).toContain("\u{1f388}\\x00\\x1f\\u2028\\ufeff \\u202eevil\\u202c");
      expect(stdout).toContain("4 records verified");
    },
  );

  verifies(
    "RUN-43",
    "ends with 1 and the number of the line for what is no export, and with 2 on wrong usage",
    () => {
      const file = join(VectorFiles.vectorsFolder, "export_two.jsonl");
      const other = Ed25519.signerFromSeed(Buffer.alloc(32, 3)).publicKey;
      const refused = verify("export", file, "--registry-key", other, "--json");
      expect(refused.status).toBe(1);
      expect(JSON.parse(refused.stdout)).toMatchObject({ ok: false, line: 1 });
      expect(verify("export", file, "--registry-key", other).stderr).toContain("line 1");
      expect(verify("export", `${file}.absent`, "--registry-key", other).status).toBe(1);
      expect(verify("export", file, "--registry-key", "short").status).toBe(2);
      expect(verify("export", file).status).toBe(2);
    },
  );
});

describe.skipIf(withPublished)(`the second verifier on ${VectorFiles.publishedNote}${note}`, () => {
  verifies(
    "FND-51",
    "accepts exactly the 43 CCTV cases, number 3 of speccheck, and all Wycheproof verdicts",
    () => {
      const cases = JSON.parse(VectorFiles.published("cctv_ed25519.json").toString("utf8")) as ReadonlyArray<{
        readonly number: number;
        readonly key: string;
        readonly sig: string;
        readonly msg: string;
      }>;
      const accepted = cases
        .filter(({ key, sig, msg }) =>
          Ed25519.verifyRaw(VectorFiles.hex(key), Buffer.from(msg), VectorFiles.hex(sig)),
        )
        .map(({ number }) => number);
      expect(accepted.length).toBe(43);
      expect(verify("cctv", VectorFiles.publishedPath("cctv_ed25519.json")).stdout).toBe(
        `${accepted.join(" ")}\n`,
      );
      expect(verify("speccheck", VectorFiles.publishedPath("speccheck_ed25519.json")).stdout).toBe("3\n");
      expect(verify("wycheproof", VectorFiles.publishedPath("wycheproof_ed25519.json")).status).toBe(0);
    },
  );
});

const seed = 20_261_130;
const sample = <T>(arbitrary: fc.Arbitrary<T>, numRuns: number): ReadonlyArray<T> =>
  fc.sample(arbitrary, { seed, numRuns });
const taken = (run: () => unknown): boolean => {
  try {
    run();
    return true;
  } catch {
    return false;
  }
};
const byVerdict = <T>(cases: ReadonlyArray<T>, isTaken: (one: T) => boolean) => ({
  accepted: cases.filter(isTaken),
  refused: cases.filter((one) => !isTaken(one)),
});

/** A few characters of a text replaced, inserted or taken away. */
const mutated = (text: string): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(
        fc.nat(text.length),
        fc.constantFrom(...'{}[]",:\\ 0123eE.+-abcAB_=\u0000\ufeff\u{1f600}'),
        fc.constantFrom(0, 1),
        fc.boolean(),
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((edits) =>
      edits.reduce(
        (result, [at, character, drop, insert]) =>
          result.slice(0, at) + (insert ? character : "") + result.slice(at + drop),
        text,
      ),
    );

const plainJson = (
  fc.jsonValue({ stringUnit: "binary", maxDepth: 4 }) as fc.Arbitrary<CanonicalJson.Json>
).filter((value) => taken(() => CanonicalJson.encode(value)));

const canonicalJsonFile = (): string => {
  const bounds = { bytesMax: 4_096, depthMax: 4 };
  const texts = sample(
    plainJson.chain((value) => mutated(CanonicalJson.encode(value))),
    1_500,
  );
  const inputs = [
    ...texts.map((text) => Buffer.from(text, "utf8")),
    ...sample(fc.uint8Array({ maxLength: 12 }), 300).map((bytes) =>
      Buffer.concat([Buffer.from('"'), bytes, Buffer.from('"')]),
    ),
  ].map((bytes) => ({ name: bytes.toString("hex").slice(0, 60), hex: bytes.toString("hex"), ...bounds }));
  const view = new DataView(new ArrayBuffer(8));
  const numbers = sample(
    fc.oneof(fc.double(), fc.double({ min: -1e25, max: 1e25 }), fc.maxSafeInteger()),
    3_000,
  ).map((number) => {
    view.setFloat64(0, number);
    const ieee754 = view.getBigUint64(0).toString(16).padStart(16, "0");
    return { ieee754, text: Number.isFinite(number) ? CanonicalJson.encode(number) : null };
  });
  const encodings = sample(plainJson, 500).map((value) => ({
    value,
    hex: CanonicalJson.encodeBytes(value).toString("hex"),
  }));
  return Family.json({
    ...byVerdict(inputs, ({ hex }) => taken(() => CanonicalJson.decodeBytes(VectorFiles.hex(hex), bounds))),
    numbers,
    encodings,
  });
};

const hashesFile = (): string =>
  Family.json({
    hashes: sample(plainJson, 100).map((value) => ({
      artifact: "example",
      value,
      preimage: preimage("example", value).toString("hex"),
      sha256: hash("example", value).toString("hex"),
    })),
    identifiers: [],
  });

const signaturesFile = (): string => {
  const signer = Ed25519.signerFromSeed(Buffer.alloc(32, 5));
  const valid = sample(fc.uint8Array({ maxLength: 40 }), 40).map((message) => {
    const value = Buffer.from(message).toString("hex");
    return { publicKey: signer.publicKey, value, signature: signer.sign("example", value) };
  });
  const raw = sample(fc.tuple(fc.nat(39), fc.nat(95), fc.nat(7), fc.boolean()), 300).map(
    ([which, byte, bit, damage]) => {
      const { publicKey, value, signature } = valid[which] as (typeof valid)[number];
      const bytes = Buffer.concat([Buffer.from(publicKey, "base64url"), Buffer.from(signature, "base64url")]);
      if (damage) bytes[byte] = (bytes[byte] as number) ^ (1 << bit);
      return {
        publicKey: bytes.subarray(0, 32),
        message: preimage("example", value),
        signature: bytes.subarray(32),
      };
    },
  );
  return Family.json({
    accepted: [],
    refused: [],
    raw: raw.map((one, i) => ({
      name: `random ${i}`,
      publicKey: one.publicKey.toString("hex"),
      message: one.message.toString("hex"),
      signature: one.signature.toString("hex"),
      valid: Ed25519.verifyRaw(one.publicKey, one.message, one.signature),
    })),
  });
};

const listFiles = (
  stem: string,
  isTaken: (text: string) => boolean,
): ReadonlyArray<readonly [string, string]> => {
  const spellings = VectorFiles.lines(`${stem}_valid.txt`);
  const texts = sample(fc.constantFrom(...spellings).chain(mutated), 800).filter(
    (text) => !text.includes("\n"),
  );
  const { accepted, refused } = byVerdict(texts, isTaken);
  return [
    [`${stem}_valid.txt`, Family.lines(accepted)],
    [`${stem}_invalid.txt`, Family.lines(refused)],
  ];
};

const isExport = (text: string, registryKey: SigningKey): boolean =>
  taken(() => {
    const reader = Export.createReader({ verifier: Ed25519.verifier, registryKey });
    reader.write(Buffer.from(text, "utf8"));
    reader.finish();
  });

/** Only the refused ones can travel as edits, and an accepted mutation of a signed file would be a defect of its own. */
const exportsFile = (): string => {
  const file = "export_two.jsonl";
  const lines = VectorFiles.lines(file);
  const edits = sample(
    fc
      .nat(lines.length - 1)
      .chain((at) => mutated(lines[at] as string).map((line) => ({ at, insert: line.split("\n") }))),
    150,
  ).filter(({ at, insert }) => insert.length > 1 || insert[0] !== lines[at]);
  for (const { at, insert } of edits) {
    const text = lines
      .toSpliced(at, 1, ...insert)
      .map((line) => `${line}\n`)
      .join("");
    expect(isExport(text, registry.publicKey)).toBe(false);
  }
  return Family.json({
    registryKey: registry.publicKey,
    accepted: [file],
    refused: edits.map((edit, i) => ({
      name: `random ${i}`,
      file,
      registryKey: registry.publicKey,
      remove: 1,
      ...edit,
    })),
  });
};

/** Statements of some members, few of which agree, and a body that may be another than they decide. */
const reanchorsFile = (): string => {
  const casts = [2, 3, 4, 7].map(Conversations.castOfSize);
  const recordHash = fc.constantFrom(
    ...[1, 2, 200].map((byte) => RecordHash.fromBytes(Buffer.alloc(32, byte))),
  );
  const height = fc.nat(2);
  const claim = fc.record({
    head: fc.option(fc.record({ recordHash, height })),
    prepared: fc.option(fc.record({ recordHash, height, round: fc.nat(2) })),
  });
  const change = fc.oneof(
    { weight: 4, arbitrary: fc.constant({}) },
    fc.record({ baseRecordHash: fc.option(recordHash) }),
    fc.record({ carriedRecordHash: fc.option(recordHash) }),
    fc.record({ round: fc.nat(6) }),
    fc.record({ previousAnchorHash: fc.constant(null) }),
  );
  const cases = sample(
    fc.record({
      cast: fc.constantFrom(...casts),
      claims: fc.array(claim, { minLength: 1, maxLength: 3 }),
      absent: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.constant(1)),
      change,
    }),
    400,
  ).map(({ cast, claims, absent: missing, change: changes }, i) => {
    const statements = Rounds.statementsOf(cast, 5, claims).slice(missing);
    const base = Reanchor.decide(statements)?.base ?? null;
    const previousAnchorHash = base === null ? null : AnchorHash.fromBytes(Buffer.alloc(32, 9));
    const reanchor = Rounds.completed(cast, 5, statements, null, { previousAnchorHash, ...changes });
    return { name: `random ${i}`, cast, membership: `${cast.people.length}`, reanchor };
  });
  const decisionOf = ({ cast, reanchor }: (typeof cases)[number]) =>
    Reanchor.verify({ verifier: Ed25519.verifier, registryKey: registry.publicKey }, cast.members, reanchor);
  const { accepted, refused } = byVerdict(cases, (one) => taken(() => decisionOf(one)));
  expect([accepted.length > 50, refused.length > 50]).toEqual([true, true]);
  return Family.json({
    registryKey: registry.publicKey,
    memberships: Object.fromEntries(casts.map(({ people, members }) => [people.length, members.membership])),
    accepted: accepted.map((one) => ({ ...one, cast: undefined, ...decisionOf(one) })),
    refused: refused.map((one) => ({ ...one, cast: undefined })),
  });
};

describe.skipIf(absent)(`the second verifier on random cases${note}`, () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "social-harness-vectors-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  verifies(["FND-51", "HIS-66", "RUN-43"], "gives this implementation's verdict on each", () => {
    const files: ReadonlyArray<readonly [string, string]> = [
      ["canonical_json.json", canonicalJsonFile()],
      ["hashes.json", hashesFile()],
      ["signatures.json", signaturesFile()],
      ...listFiles("agent_id", AgentId.is),
      ...listFiles("message_address", Address.isMessageAddress),
      ["export_two.jsonl", Exports.files().get("export_two.jsonl") as string],
      ["exports.json", exportsFile()],
      ["reanchors.json", reanchorsFile()],
    ];
    for (const [name, text] of files) writeFileSync(join(folder, name), text);
    const { status, stdout, stderr } = verify("vectors", folder);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^\d{4,} cases, 0 disagreements\n$/);
    expect(status).toBe(0);
  });

  verifies("RUN-43", "refuses an export whose last line does not end", () => {
    const file = join(folder, "cut.jsonl");
    const text = VectorFiles.text("export_two.jsonl");
    for (const cut of [text.slice(0, -1), text.slice(0, text.length >> 1), ""]) {
      expect(isExport(cut, registry.publicKey)).toBe(false);
      writeFileSync(file, cut);
      expect(verify("export", file, "--registry-key", registry.publicKey).status).toBe(1);
    }
  });
});
