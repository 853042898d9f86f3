import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { inspect } from "node:util";
import { expect } from "vitest";
import * as NetworkKeys from "@social-harness/registry/NetworkKeys";
import { verifies } from "@social-harness/testkit/Verifies";
import { seededRandom, temporaryFolder } from "./TestNetwork.ts";

const reason = (expected: string) => expect.objectContaining({ name: "NetworkKeysError", reason: expected });
const newPath = (): string => join(temporaryFolder(), "network.json");
const publicKeysOf = ({ registry, router }: NetworkKeys.NetworkKeys) => [
  registry.publicKey,
  router.publicKey,
];

verifies("IDN-42", "the keys of a network are made once, in a file of mode 0600, and loaded again", () => {
  const path = newPath();
  expect(() => NetworkKeys.load(path)).toThrow(reason("absent"));
  const made = NetworkKeys.loadOrCreate(path, seededRandom("keys"));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(path, ".."))).toEqual(["network.json"]);
  expect(publicKeysOf(NetworkKeys.load(path))).toEqual(publicKeysOf(made));
  expect(publicKeysOf(NetworkKeys.loadOrCreate(path, seededRandom("other")))).toEqual(publicKeysOf(made));
  expect(made.registry.publicKey).not.toBe(made.router.publicKey);
});

verifies("IDN-42", "existing keys are never replaced", () => {
  const path = newPath();
  NetworkKeys.create(path, seededRandom("keys"));
  const before = readFileSync(path);
  expect(() => NetworkKeys.create(path, seededRandom("other"))).toThrow(reason("exists"));
  expect(readFileSync(path)).toEqual(before);
  expect(readdirSync(join(path, ".."))).toEqual(["network.json"]);
});

verifies("IDN-42", "a file that others can open, or that is no key file, is refused", () => {
  const path = newPath();
  NetworkKeys.create(path, seededRandom("keys"));
  for (const mode of [0o640, 0o604, 0o620, 0o610, 0o666]) {
    chmodSync(path, mode);
    expect(() => NetworkKeys.load(path)).toThrow(reason("exposed"));
    expect(() => NetworkKeys.loadOrCreate(path, seededRandom("x"))).toThrow(reason("exposed"));
  }
  chmodSync(path, 0o600);
  const good = readFileSync(path, "utf8");
  for (const text of [
    "",
    "{}",
    `${good}\n`,
    good.replace("registrySeed", "registrySeeds"),
    good.padEnd(600),
  ]) {
    writeFileSync(path, text);
    expect(() => NetworkKeys.load(path)).toThrow(reason("malformed"));
  }
  rmSync(path);
  execFileSync("mkfifo", ["-m", "600", path]);
  expect(() => NetworkKeys.load(path)).toThrow(reason("malformed"));
  expect(() => NetworkKeys.create(join(path, "x", "network.json"), seededRandom("x"))).toThrow(
    reason("unavailable"),
  );
});

verifies(
  "IDN-42",
  "what a killed start left of the keys under another name is removed, and nothing else",
  () => {
    const path = newPath();
    const keys = NetworkKeys.create(path, seededRandom("keys"));
    const { pid } = spawnSync("true");
    const kept = [`network.json.${process.ppid}.new`, "network.json.mine.new", `other.json.${pid}.new`];
    for (const name of [...kept, `network.json.${pid}.new`]) writeFileSync(join(path, "..", name), "half");
    expect(publicKeysOf(NetworkKeys.loadOrCreate(path, seededRandom("x")))).toEqual(publicKeysOf(keys));
    expect(readdirSync(join(path, "..")).toSorted()).toEqual(["network.json", ...kept].toSorted());
  },
);

verifies("IDN-42", "nothing that is handed out shows a seed", () => {
  const path = newPath();
  const keys = NetworkKeys.create(path, seededRandom("keys"));
  const file = JSON.parse(readFileSync(path, "utf8")) as { registrySeed: string; routerSeed: string };
  const shown = inspect(keys, { depth: 10, showHidden: true }) + JSON.stringify(keys);
  expect(shown).not.toContain(file.registrySeed);
  expect(shown).not.toContain(file.routerSeed);
});
