import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as Database from "../../src/store/Database.ts";
import * as EndpointFile from "../../src/state/EndpointFile.ts";
import * as Identity from "../../src/state/Identity.ts";
import * as PrivateFile from "../../src/state/PrivateFile.ts";
import type { StateError } from "../../src/state/StateError.ts";
import * as ProcessBirth from "../../src/state/ProcessBirth.ts";
import * as StartSecret from "../../src/state/StartSecret.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";
import * as Tokens from "../../src/state/Tokens.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "social-harness-state-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

let drawn = 0;
const random = (byteCount: number): Uint8Array =>
  createHash("shake256", { outputLength: byteCount }).update(`${drawn++}`).digest();

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const refusalOf = (body: () => unknown): StateError => {
  try {
    body();
  } catch (error) {
    return error as StateError;
  }
  throw new Error("nothing was refused");
};

verifies("RUN-20", "the folder is 0700 and everything in it 0600, the database's journals included", () => {
  const folder = StateFolder.open(join(root, "deep", "state"));
  Identity.create(folder, random);
  Tokens.ensure(folder, "trusted-local", random);
  EndpointFile.write(folder, {
    pid: process.pid,
    born: ProcessBirth.of(process.pid),
    secret: StartSecret.create(random),
    mcpUrl: "http://127.0.0.1:7431/mcp",
    mode: "credentials",
    version: "0.1.0",
  });
  const db = Database.open(folder.database);
  db.run("INSERT INTO setting (name, value) VALUES ('x', x'00')");
  expect([modeOf(folder.path), modeOf(folder.logs)]).toEqual(["700", "700"]);
  const files = readdirSync(folder.path).filter((name) => name !== "logs");
  expect(files.toSorted()).toEqual([
    ".gitignore",
    "endpoint.json",
    "endpoint.sqlite",
    "endpoint.sqlite-shm",
    "endpoint.sqlite-wal",
    "identity.json",
    "lock",
    "metrics-token",
    "owner-token",
  ]);
  for (const name of files) expect([name, modeOf(join(folder.path, name))]).toEqual([name, "600"]);
  db.close();
});

verifies("RUN-30", "a new folder ignores itself, and an owner who removes that stays in charge", () => {
  const folder = StateFolder.open(join(root, "state"));
  const ignore = join(folder.path, ".gitignore");
  expect(readFileSync(ignore, "utf8")).toBe("*\n");
  Identity.create(folder, random);
  rmSync(ignore);
  StateFolder.open(folder.path);
  expect(existsSync(ignore)).toBe(false);
});

verifies("RUN-20", "loose permissions are refused with the command that repairs them", () => {
  const folder = StateFolder.open(join(root, "state"));
  Identity.create(folder, random);
  Tokens.ensure(folder, "trusted-local", random);
  for (const [path, use] of [
    [folder.path, () => StateFolder.open(folder.path)],
    [folder.database, () => StateFolder.open(folder.path)],
    [folder.identity, () => Identity.load(folder)],
    [folder.ownerToken, () => Tokens.ownerOf(folder, "trusted-local")],
  ] as const) {
    const mode = statSync(path).mode & 0o777;
    chmodSync(path, mode | 0o040);
    const refusal = refusalOf(use);
    expect(refusal.reason).toBe("permissions");
    expect(refusal.message).toContain(`chmod go= ${path}`);
    chmodSync(path, mode);
    use();
  }
});

test("the default folder follows XDG_STATE_HOME when that is absolute", () => {
  const options = { profile: "default", home: "/home-of-someone" };
  expect(StateFolder.defaultPath({ ...options, xdgStateHome: "/xdg" })).toBe("/xdg/social-harness/default");
  const plain = "/home-of-someone/.local/state/social-harness/default";
  expect(StateFolder.defaultPath(options)).toBe(plain);
  expect(StateFolder.defaultPath({ ...options, xdgStateHome: "relative" })).toBe(plain);
  for (const profile of ["", ".", "..", "../other", "a/b", "a\0b", "x".repeat(65)]) {
    expect(refusalOf(() => StateFolder.defaultPath({ ...options, profile })).reason).toBe("malformed");
  }
});

test("a folder that cannot be made says so", () => {
  writeFileSync(join(root, "file"), "");
  const refusal = refusalOf(() => StateFolder.open(join(root, "file", "state")));
  expect(refusal.reason).toBe("unavailable");
  expect(refusal.message).toContain(join(root, "file", "state"));
});

verifies("RUN-29", "keys are made once and load as the same two public keys, also through a symlink", () => {
  const folder = StateFolder.open(join(root, "state"));
  expect(Identity.load(folder)).toBeNull();
  const made = Identity.create(folder, random);
  const before = readFileSync(folder.identity);
  expect(refusalOf(() => Identity.create(folder, random)).reason).toBe("exists");
  expect(readFileSync(folder.identity)).toEqual(before);

  symlinkSync(folder.path, join(root, "link"));
  const loaded = Identity.load(StateFolder.open(join(root, "link"))) as Identity.Identity;
  expect([loaded.signingKey, loaded.sealingKey]).toEqual([made.signingKey, made.sealingKey]);
  const signature = loaded.signer.sign("test", { a: 1 });
  expect(Ed25519.verifier.verify(made.signingKey, "test", { a: 1 }, signature)).toBe(true);
  const peer = Identity.create(StateFolder.open(join(root, "peer")), random);
  expect(loaded.sealing.agree(peer.sealingKey)).toEqual(peer.sealing.agree(made.sealingKey));
});

verifies("RUN-29", "no private key is readable through what loading returns", () => {
  const folder = StateFolder.open(join(root, "state"));
  const identity = Identity.create(folder, random);
  const { signingSeed, sealingSeed } = JSON.parse(readFileSync(folder.identity, "utf8")) as Record<
    string,
    string
  >;
  const seen = JSON.stringify(identity) + Object.values(identity).map(String).join();
  expect(seen).not.toContain(signingSeed);
  expect(seen).not.toContain(sealingSeed);
});

verifies("RUN-29", "a damaged identity is refused and left as it is", () => {
  const folder = StateFolder.open(join(root, "state"));
  Identity.create(folder, random);
  const good = readFileSync(folder.identity, "utf8");
  const damages = [
    "",
    "{}",
    good.slice(0, -1),
    ` ${good}`,
    good.replace('"version":1', '"version":0'),
    good.replace('"version":1', '"version":2').slice(1),
    good.repeat(9),
  ];
  for (const damaged of damages) {
    writeFileSync(folder.identity, damaged, { mode: 0o600 });
    const refusal = refusalOf(() => Identity.load(folder));
    expect(refusal.reason).toBe("malformed");
    expect(refusal.message).toContain(folder.identity);
    expect(readFileSync(folder.identity, "utf8")).toBe(damaged);
  }
});

verifies(
  "RUN-175",
  "the keys of a later version are told as that, whatever they hold, and left as they are",
  () => {
    const folder = StateFolder.open(join(root, "state"));
    Identity.create(folder, random);
    const good = readFileSync(folder.identity, "utf8");
    for (const later of [
      good.replace('"version":1', '"version":2'),
      JSON.stringify({ kind: "identity", version: 7, seeds: "x".repeat(2_000) }),
    ]) {
      writeFileSync(folder.identity, later, { mode: 0o600 });
      const refusal = refusalOf(() => Identity.load(folder));
      expect(refusal.reason).toBe("other-version");
      expect(refusal.message).toContain("start the newer program");
      expect(refusalOf(() => Identity.create(folder, random)).reason).toBe("exists");
      expect(readFileSync(folder.identity, "utf8")).toBe(later);
    }
  },
);

verifies(
  "RUN-20",
  "the owner token is made once, has at least 32 characters, and is read anew each time",
  () => {
    const folder = StateFolder.open(join(root, "state"));
    expect(refusalOf(() => Tokens.ownerOf(folder, "trusted-local")).reason).toBe("missing");
    Tokens.ensure(folder, "trusted-local", random);
    const token = Tokens.ownerOf(folder, "trusted-local");
    expect(token).toMatch(/^[A-Za-z0-9_-]{32,}$/);
    Tokens.ensure(folder, "trusted-local", random);
    expect(Tokens.ownerOf(folder, "trusted-local")).toBe(token);
    PrivateFile.replace(folder.ownerToken, "rotated.rotated.rotated.rotated.rotated");
    expect(Tokens.ownerOf(folder, "trusted-local")).toBe("rotated.rotated.rotated.rotated.rotated");
    for (const bad of [
      "",
      "short",
      `${token}\n`,
      `${token} `,
      "x".repeat(31),
      "é".repeat(40),
      "x".repeat(2_000),
    ]) {
      PrivateFile.replace(folder.ownerToken, bad);
      const refusal = refusalOf(() => Tokens.ownerOf(folder, "trusted-local"));
      expect(refusal.reason).toBe("malformed");
      if (bad.trim() !== "") expect(refusal.message).not.toContain(bad.trim());
    }
  },
);

test("a private file is replaced in one step, and nothing is left of an earlier attempt that was killed", () => {
  const path = join(root, "file");
  writeFileSync(`${path}.${process.pid}.new`, "half");
  PrivateFile.replace(path, "whole");
  PrivateFile.replace(path, "second");
  expect(PrivateFile.createOnce(path, "third")).toBe(false);
  expect(readdirSync(root)).toEqual(["file"]);
  expect(PrivateFile.read(path, 100)).toBe("second");
  expect(PrivateFile.read(join(root, "absent"), 100)).toBeNull();
  mkdirSync(join(root, "folder"), { mode: 0o700 });
  expect(refusalOf(() => PrivateFile.read(join(root, "folder"), 100_000)).reason).toBe("malformed");
  symlinkSync(join(root, "absent"), join(root, "link"));
  expect(refusalOf(() => PrivateFile.read(join(root, "link"), 100)).reason).toBe("unavailable");
  expect(refusalOf(() => PrivateFile.replace(join(root, "no", "file"), "")).reason).toBe("unavailable");
});

verifies(
  ["RUN-22", "RUN-302"],
  "endpoint.json says pid and address, is gone after a stop, and is never half written",
  () => {
    const folder = StateFolder.open(join(root, "state"));
    expect(EndpointFile.read(folder)).toBeNull();
    const endpoint = {
      pid: 4_711,
      born: null,
      secret: StartSecret.create(random),
      mcpUrl: "http://127.0.0.1:7431/mcp",
      mode: "credentials",
      version: "0.1.0",
    } as const;
    EndpointFile.write(folder, endpoint);
    expect(EndpointFile.read(folder)).toEqual(endpoint);
    EndpointFile.write(folder, { ...endpoint, mcpUrl: "http://127.0.0.1:7432/mcp" });
    expect(EndpointFile.read(folder)?.mcpUrl).toBe("http://127.0.0.1:7432/mcp");
    EndpointFile.removeOwn(folder, StartSecret.create(random));
    expect(EndpointFile.read(folder)?.pid).toBe(4_711);
    EndpointFile.removeOwn(folder, endpoint.secret);
    EndpointFile.removeOwn(folder, endpoint.secret);
    EndpointFile.remove(folder);
    expect([EndpointFile.read(folder), existsSync(folder.endpoint)]).toEqual([null, false]);
    for (const bad of ["{}", '{"pid":1}', '{"mcpUrl":"http://elsewhere:1/mcp","pid":1}']) {
      PrivateFile.replace(folder.endpoint, bad);
      expect(refusalOf(() => EndpointFile.read(folder)).reason).toBe("malformed");
      EndpointFile.removeOwn(folder, endpoint.secret);
      expect(readFileSync(folder.endpoint, "utf8")).toBe(bad);
    }
  },
);
