import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, beforeEach, expect } from "vitest";
import * as PrivateFile from "../../src/state/PrivateFile.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";
import * as Tokens from "../../src/state/Tokens.ts";

let root: string;
let folder: StateFolder.StateFolder;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "social-harness-tokens-"));
  folder = StateFolder.open(join(root, "state"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const random = (byteCount: number): Uint8Array => randomBytes(byteCount);
const good = "a-token-that-is-good-a-token-that-is-good";

verifies("MGT-71", "the runtime's token is made in credentials mode alone, distinct and once", () => {
  Tokens.ensure(folder, "trusted-local", random);
  expect([existsSync(folder.ownerToken), existsSync(folder.runtimeToken)]).toEqual([true, false]);
  Tokens.ensure(folder, "credentials", random);
  const texts = [folder.ownerToken, folder.runtimeToken, folder.metricsToken].map((path) => {
    expect(statSync(path).mode & 0o777).toBe(0o600);
    return readFileSync(path, "utf8");
  });
  expect(new Set(texts).size).toBe(3);
  for (const text of texts) expect(text).toMatch(/^[A-Za-z0-9_-]{32,}$/);
  Tokens.ensure(folder, "credentials", random);
  const read = Tokens.reader(folder, "credentials", () => expect.unreachable());
  expect(read()).toEqual({ owner: texts[0], runtime: texts[1], metrics: texts[2] });
  // Left over from another mode, it is nobody's token.
  expect(Tokens.reader(folder, "trusted-local", () => expect.unreachable())()).toEqual({
    owner: texts[0],
    runtime: null,
    metrics: texts[2],
  });
});

verifies("MGT-71", "a file that is not as it should be opens nothing, and is complained of once", () => {
  Tokens.ensure(folder, "credentials", random);
  const said: Array<string> = [];
  const read = Tokens.reader(folder, "credentials", (explanation) => void said.push(explanation));
  const { owner, runtime, metrics } = read();
  const faults: ReadonlyArray<readonly [words: RegExp, spoil: (path: string) => void]> = [
    [/is missing: start the daemon again/, (path) => rmSync(path)],
    [/at least 32 characters/, (path) => writeFileSync(path, "")],
    [/at least 32 characters/, (path) => writeFileSync(path, "x".repeat(31))],
    [/no line end/, (path) => writeFileSync(path, `${good}\n`)],
    [/at least 32 characters/, (path) => writeFileSync(path, good.replace("-", " "))],
    [/larger than/, (path) => writeFileSync(path, "x".repeat(2_000))],
    [/chmod go=/, (path) => chmodSync(path, 0o644)],
    [/chmod go=/, (path) => chmodSync(path, 0o620)],
  ];
  const files = [
    [folder.ownerToken, { owner: null, runtime, metrics }],
    [folder.runtimeToken, { owner, runtime: null, metrics }],
    [folder.metricsToken, { owner, runtime, metrics: null }],
  ] as const;
  for (const [path, expected] of files) {
    for (const [words, spoil] of faults) {
      const text = readFileSync(path, "utf8");
      said.length = 0;
      spoil(path);
      for (let i = 0; i < 3; i++) expect([path, read()]).toEqual([path, expected]);
      expect(said).toEqual([expect.stringMatching(words)]);
      expect(said[0]).toContain(path);
      expect(said[0]).not.toContain(good);
      rmSync(path, { force: true });
      PrivateFile.replace(path, text);
      expect(read()).toEqual({ owner, runtime, metrics });
    }
  }
});

verifies("MGT-71", "two files with one token open nothing, to the owner neither", () => {
  Tokens.ensure(folder, "credentials", random);
  const said: Array<string> = [];
  const read = Tokens.reader(folder, "credentials", (explanation) => void said.push(explanation));
  PrivateFile.replace(folder.runtimeToken, readFileSync(folder.ownerToken, "utf8"));
  for (let i = 0; i < 3; i++) expect(read()).toMatchObject({ owner: null, runtime: null });
  expect(said).toEqual([expect.stringContaining("hold the same token: delete one")]);
  expect(() => Tokens.ownerOf(folder, "credentials")).toThrow("hold the same token");
  expect(Tokens.ownerOf(folder, "trusted-local")).toBe(readFileSync(folder.ownerToken, "utf8"));
  // A trouble that went and came again is said again.
  PrivateFile.replace(folder.runtimeToken, good);
  expect(read().runtime).toBe(good);
  PrivateFile.replace(folder.ownerToken, good);
  read();
  expect(said).toHaveLength(2);
});

verifies("MGT-71", "a token is rotated by rewriting its file, with the next reading", () => {
  Tokens.ensure(folder, "credentials", random);
  const read = Tokens.reader(folder, "credentials", () => expect.unreachable());
  const first = read();
  // In the same place, and as another file under the same name.
  writeFileSync(folder.runtimeToken, good);
  expect(read()).toEqual({ ...first, runtime: good });
  PrivateFile.replace(folder.ownerToken, `${good}-of-the-owner`);
  expect(read()).toEqual({ ...first, owner: `${good}-of-the-owner`, runtime: good });
});

verifies("MGT-79", "what a log must not hold are the tokens that there are, whatever the mode", () => {
  expect(Tokens.secrets(folder)).toEqual([]);
  Tokens.ensure(folder, "credentials", random);
  const paths = [folder.ownerToken, folder.runtimeToken, folder.metricsToken];
  const texts = paths.map((path) => readFileSync(path, "utf8"));
  expect(Tokens.secrets(folder)).toEqual(texts);
  writeFileSync(folder.ownerToken, "a");
  expect(Tokens.secrets(folder)).toEqual(texts.slice(1));
});

verifies(
  "RUN-297",
  "a token for measurements that is another's too is nobody's, and the others stay good",
  () => {
    Tokens.ensure(folder, "credentials", random);
    const said: Array<string> = [];
    const read = Tokens.reader(folder, "credentials", (explanation) => void said.push(explanation));
    const all = read();
    const text = readFileSync(folder.metricsToken, "utf8");
    PrivateFile.replace(folder.metricsToken, all.owner ?? "");
    expect(read()).toEqual({ owner: null, runtime: all.runtime, metrics: null });
    expect(said).toEqual([
      expect.stringContaining(`${folder.ownerToken} and ${folder.metricsToken} hold the same`),
    ]);
    expect(() => Tokens.ownerOf(folder, "credentials")).toThrow("hold the same token");
    PrivateFile.replace(folder.metricsToken, all.runtime ?? "");
    expect(read()).toEqual({ owner: all.owner, runtime: null, metrics: null });
    PrivateFile.replace(folder.metricsToken, text);
    expect(read()).toEqual(all);
    // Without its file commands go on: only the owner's is theirs.
    rmSync(folder.metricsToken);
    expect(Tokens.ownerOf(folder, "credentials")).toBe(all.owner);
  },
);
