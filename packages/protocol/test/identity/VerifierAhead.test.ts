import { expect } from "vitest";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { Ed25519Signature, SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as VerifierAhead from "@social-harness/protocol/identity/VerifierAhead";
import { verifies } from "@social-harness/testkit/Verifies";

const [ada, bob] = [1, 2].map((byte) => Ed25519.signerFromSeed(Buffer.alloc(32, byte))) as [
  ReturnType<typeof Ed25519.signerFromSeed>,
  ReturnType<typeof Ed25519.signerFromSeed>,
];

interface Question {
  readonly key: SigningKey;
  readonly artifact: string;
  readonly value: object;
  readonly signature: Ed25519Signature;
}

const truth: Question = {
  key: ada.publicKey,
  artifact: "example",
  value: { said: "yes" },
  signature: ada.sign("example", { said: "yes" }),
};
const others: ReadonlyArray<Partial<Question>> = [
  { key: bob.publicKey },
  { artifact: "another" },
  { value: { said: "no" } },
  { signature: ada.sign("example", { said: "no" }) },
];

const ask = (verifier: VerifierAhead.VerifierAhead["verifier"], question: Question): boolean =>
  verifier.verify(question.key, question.artifact, question.value as never, question.signature);

verifies("HIS-119", "what was begun is answered as Ed25519 does, true or false", async () => {
  for (const change of [{}, ...others]) {
    const ahead = VerifierAhead.create();
    const question = { ...truth, ...change };
    let said: boolean | null = null;
    await ahead.begin((verifier) => void (said = ask(verifier, question)));
    expect(said).toBe(true);
    for (let i = 0; i < 2; i++) expect(ask(ahead.verifier, question)).toBe(ask(Ed25519.verifier, question));
  }
});

verifies("HIS-119", "a verdict about other bytes, or under another key, is worth nothing", async () => {
  for (const change of others) {
    for (const [begun, asked] of [
      [truth, { ...truth, ...change }],
      [{ ...truth, ...change }, truth],
    ] as const) {
      const ahead = VerifierAhead.create();
      await ahead.begin((verifier) => void ask(verifier, begun));
      expect(ask(ahead.verifier, asked)).toBe(ask(Ed25519.verifier, asked));
    }
  }
});

verifies(
  "HIS-119",
  "a question that comes before its verdict, or that nobody began, is verified",
  async () => {
    const ahead = VerifierAhead.create();
    expect(ask(ahead.verifier, truth)).toBe(true);
    const begun = ahead.begin((verifier) => void ask(verifier, { ...truth, key: bob.publicKey }));
    expect(ask(ahead.verifier, truth)).toBe(true);
    expect(ask(ahead.verifier, { ...truth, key: bob.publicKey })).toBe(false);
    await begun;
  },
);

verifies(
  "HIS-119",
  "thousands of verdicts that nobody asks for take no more room and do no harm",
  async () => {
    const ahead = VerifierAhead.create();
    const questions = Array.from({ length: 3_000 }, (_, i) => {
      const value = { said: i };
      return { ...truth, value, signature: i % 3 === 0 ? truth.signature : ada.sign("example", value) };
    });
    await ahead.begin((verifier) => questions.forEach((question) => void ask(verifier, question)));
    for (const [i, question] of questions.entries()) expect(ask(ahead.verifier, question)).toBe(i % 3 !== 0);
  },
);
